"""The table of what compiling rewrites: a name, the function, and how the statement begins.

A row fires where its statement runs; a ``return`` fires if it returns something that is neither
None nor False, and an ``if`` if its condition holds. Of two rows with the same text the second
names the second such statement of the function. A statement that no program reaches is named ``-``.
The rules of ``identities`` are counted by themselves, and so are the two sides of each comparison
with a number that has a name of capital letters.
"""

TABLE = """
agnograd_compile._passes.passes
  a pass changes a program | run | left |= others - UNCOUNTING

agnograd_compile._passes.identities
  any | identities | outputs =

agnograd_compile._passes.chains
  a chain becomes a step | chains | return dead(
  the sum is the second argument | _found | before, item =
  a sum | _summed | columns.steps.append(
  a sum that subtracts | _summed | column = columns.array('negative'
  the order is not kept: terms are not alike | _summed | continue
  writes or scatters | _written | columns.steps.append(
  scatters in several rounds | _written | into = columns.array(
  writes, of which the last counts | _rounds | return [dict(
  a place twice | _rounds | rounds.append(
  places in a row | _key | return found
  places by indices of one axis | _key | return indices[0]
  places by indices of several axes | _key | return tuple(indices)

agnograd_compile._passes.columns
  one value for all | column | return values[0]
  stacked: computed alike | stacked | return found
  stacked: one value, spread | stacked | return self.view('broadcast_to'
  stacked: parts joined | stacked | return self.array('concat'
  stacked: one by one | stacked | return self.array('stack'
  unlike | _column | return None
  elements of several axes by a slice | _elements | return self.view('__getitem__'
  all elements | _elements | return base
  elements by a slice | _elements | return self.view('__getitem__'
  elements by indices | _elements | return self.array('take'
  not in rows | _flat | return None
  flat | _flat | return self.view('reshape'
  each is computed from the one before | _computed | if not own.isdisjoint(
  one argument is stacked | _computed | args[place] = self.stacked(
  numbers | _computed | args[place] = self.constant(
  computed at once | _computed | return self.array(

agnograd_compile._passes.common
  a guard goes | common | continue
  a step goes | common | new.update(
  arguments change places | key_of | args =

agnograd_compile._passes.dead
  steps go | dead | return with_steps(

agnograd_compile._passes.order
  an order | order | return program.with_(
  steps move, and gain too little | order | if other > most or
  a view is made for the first step that reads it | _prepare | self.before[number] +=

agnograd_compile._passes.partition
  a view is taken again | _taken_again | repeated[id(step)] = step
  a value is kept | _taken_again | kept.add(ref)
  an element of what is at hand | _is_view | return is_basic(key)

agnograd_compile._passes.scatters
  two are one | _scatter | total = self.value(
  an addition to all of the zeros is a sum | _filled | return Step(
  the zeros have signs | _filled | if bool(
  an addition to zeros | _scatter | if self._is_zero(into)

agnograd_compile._passes.uniform
  the pass | rewritten | return self.finished(
  a step on constants is computed | folded | self.constants[out] = value
  a constant of one number | number_of | return number
  a constant of several | number_of | if not bool(raw.all(raw.equal(
  zeros of both signs | number_of | if signed and
  a number takes the place of an array | smaller | return number
  an array without axes takes its place | smaller | ref = self._held[key] =
  steps compute one element | one | new = self.emit(
  one element is spread | spread | args[place] =
  moved | made_by | return self.known.get(
  filled | made_by | if step.op in _FILLED
  full_like | made_by | if step.op == 'full_like'
  to the power of zero | made_by | if step.op == 'pow'
  astype | made_by | if step.op == 'astype'
  a step of uniform arrays | made_by | return step
  a number | made_by | return number

agnograd_compile._programs.plan
  updates in place | plan | buffers = [held.pop(
  a buffer is used again | _buffer | buffer = free.pop()
  a result is written over an argument in a buffer | _buffer | return self.held.pop(
  a result is written over an argument in no buffer | _kept | self.over[number] = into
  an output's memory is updated | _kept | kept.add(step.args[0])
  a buffer takes the place of a smaller one | shared | kept[place] = (kept

agnograd_compile._programs.rooms
  memory is lent | lent | return replace(
  a room beside another one | _offset | offset = max(
  a room before another one | _offset | if offset + stay.size <= at

agnograd_c
  no groups | lower | return plain.lower(given)

agnograd_c._rewrite.triangles
  a Cholesky factor | by_substitution | triangles[step.outs[0]] = not step.kwargs
  a transposed factor | by_substitution | triangles[step.outs[0]] = not triangles
  an equation | by_substitution | changed = True

agnograd_c._rewrite.unrolled
  unrolled | unrolled | return found
  looked at, and left | unrolled | return program
  unstack | _is_unrolled | self.new.update(
  a read | _is_unrolled | self.new[out] = self._of(step.args[0], step)[
  a sum | _is_unrolled | self.new[out] = self._sum(
  stack | _is_unrolled | self.elements[out] = [
  a scatter | _is_unrolled | self.elements[out] = parts
  element-wise | _is_elementwise | self.elements[out] = [
  elements are read | _of | self.elements[array] = [
  an array is put together | _need | self.steps.append(

agnograd_c._rewrite.parts
  a product in parts | _write | self.gone.add(id(step))
  which a sum reads | _write | out = reader.outs[0]
  which begin from nothing | _start | return None
  which a later value is added to | _start | return others[0]
  transposed parts | _transposed | self._emit(
  parts of a constant | _cut | self.constants[found[-1]] =

agnograd_c._rewrite.turned
  a transposed product | turned | return editor.finished(

agnograd_c._rewrite.extremes
  an extreme by ties | _write | again = add(
  - | _write | return False
  an extreme of another dtype | _write | return False
  an extreme without the axes | _write | return False
  an extreme along other axes | _write | return False

agnograd_c._rewrite.recompute
  recomputed | recomputed | return _Writer(
  groups make a value themselves | late | lives.change(ref, Life(
  no gain but for those | recomputed | search.lives.known, found =
  a value that is not kept over the peak | found | lives.change(ref, lives.known[ref].without
  kept apart | _again | now[ref] = self._add(Step(AFTER
  a view is taken again | _viewed | self.new[ref] =

agnograd_c._rewrite.slopes
  the slope of tanh | with_slopes | return editor.finished(

agnograd_c._choose.groups
  a group of steps | groups_of | found.setdefault(
  a product and a sum | groups_of | products.append(
  a product | groups_of | products.append(
  additions to parts | levels_of | shape = fitting
  an inexact step that a guard looks at | levels_of | shape = None
  a sum | _shape_of | return of
  a read or scatter of scalars | _shape_of | return ()
  a step of elements | _shape_of | return facts[
  sums of all | axes_kept | return ()
  sums over the last axes | axes_kept | return kept
  sums over one axis before a few | axes_kept | return kept
  guards keep their order | replaced | fixed = place

agnograd_c._run.lowering
  a function in C | functions_of | found.append(
  for several threads | functions_of | made = written(program, group, needed, views, serial=False)
  no function | functions_of | if made is None

agnograd_c._choose.products
  the product is the first argument | added_to | if other not in products:
  a sum with a product | added_to | found[number] =
  a transposed view | transposed | found[step.outs[0]] =

agnograd_c._write.products
  a product | product | begin =

agnograd_c._write.scalars
  scalars | function | return Function(
  a read | _read | self.code.values[out] =
  a scatter | _scatter | buffer = Element(
  a scatter to the array of another | _scatter | buffer = self.buffers[into]
  the bytes of an array are copied | _scatter | self.code.op(type, 'copy'

agnograd_c._write.arrays
  arrays | function | return Function(
  a sum | _sum | self.sums.append(
  sums over other axes are left | build | self.left.append(number)
  additions | build | self.adding.add(
  additions are left | build | self.left.append(number)
  sums are left, since results are not in rows | build | self._leave(SUMS
  additions are left, since loops would be worse | build | self._leave((ADDS
  a short loop, or no result | function | if self.layout.is_short
  sums across | _stores | ends.append(self._end_across(
  sums within | _stores | ends.append(f
  results in a row | _stores | stores.append(f'put_row
  results apart | _stores | stores.append(f'put_apart
  one number everywhere | _part | fixed +=
  inputs in a row | _load | text = f'row_
  inputs apart | _load | text = f'apart_
  one number in a loop | _load | text = f'splat_
  units and their sums | _whole | lines.append(f'    char *sums

agnograd_c._write.additions
  an array | add | self.arrays.append(
  another part of an array | add | number = self.arrays.index(
  blocks | loop | block =
  parts | _added | pointers.append(

agnograd_c._choose.layout
  across | lengthen | self.kept, self.is_across =
  a longer loop inside | lengthen | self._move(axis)
  axes in a row are one | layout_of | loops[-1] =
  what is added up is one element | layout_of | if len(loops) == outer
  spread arrays decide the order | layout_of | if not all(leading)

agnograd_c._choose.places
  zeros | fits | found = self._is_zero(
  what the one before made | fits | found = self._used[into] == 1
  dots in a key | region_of | place = next(

agnograd_c._write.runs
  a loop | _find | self.runs.append(
  what an earlier loop made | _move | return there.time - here.time

agnograd_c._write.body
  carried on | _moving | carried[second - start] =
  kept by an earlier loop | _moving | self.kept[run, there] = True
  another scalar each time | _scalars | number =
  places at a distance | _numbers | return f
  another number each time | _numbers | plain =
  kept for all iterations | storage | freed.append(
  kept for the last | storage | made.append(f'{type} {name};

agnograd_c._write.code
  a derivative | add_step | made = _derivative(
  a comparison | add_step | made = _comparison(
  a test | add_step | if step.op in TESTS
  one number | add_step | made = Number(
  where | add_step | if step.op == 'where'
  clip | add_step | if step.op == 'clip'
  another type | add_step | if step.op in SAME
  a power by a number | add_step | if step.op == 'pow'
  tanh | add_step | if step.op == 'tanh'
  an op | add_step | name =
  complex: where | _of_pairs | if step.op == 'where'
  complex: parts | _of_pairs | return [code.value(
  complex: the same | _of_pairs | return [a, b]
  complex: conj | _of_pairs | return [a, op(
  complex: negative | _of_pairs | return [op('negative'
  complex: a sum | _of_pairs | return [op(step.op
  complex: a product | _of_pairs | return [real
  ties | _derivative | return code.cast(
  of tanh | _derivative | e = decay(
  of the larger of two | _derivative | more =

agnograd_numpy._blocks
  a group in blocks | _grouped | return [Step(
  a group that is no faster in blocks | _grouped | return members
  too few members | _grouped | return members
  a guard ends a group | _split | return (before, members, [
  axes in another order | __init__ | self.axes =

agnograd_numpy._steps
  into: blocks | way_of | return Way.INTO
  in place: a group that adds | way_of | return Way.ADD
  a group of elements | way_of | return Way.ELEMENTWISE
  a group of scalars or a product | way_of | return Way.INTO
  new: no array | way_of | return Way.NEW
  an update | way_of | return Way.UPDATE
  - | way_of | return Way.NEW
  new: one complex number | way_of | return Way.NEW
  element-wise | way_of | return Way.ELEMENTWISE
  into | way_of | return Way.INTO
  new | way_of | return Way.NEW
  a number beside an array, as an array full of it | beside | made = np.ndarray(
  a constant scalar beside an array | beside | value = program.constants[
  a concatenation | is_concat | dtype =
  a roll | parts_of_roll | return rolled(
  a derivative of tanh | operands_of_tanh | return (given

agnograd_numpy._elementwise
  over an argument | place | return self.places.setdefault(
  memory that is lent | room | return self.owners[

agnograd_numpy.lowering
  blocks | step | if step.op == BLOCKS
  a call with arrays to write to | step | if step.op == CALL
  a scatter | step | if number in self.plan.updates
  element-wise | step | if self.way(step) is Way.ELEMENTWISE
  tanh | step | if (operands := _steps
  a short form | step | self.compute(step, text, into)
  a call of the op | step | super().step(
  a scalar in a cell | cell | self._cells[value] =
  scalars: negative | scalar | return f'-
  scalars: an operator | scalar | return f'{texts[0]} {_INFIX
  a chain | short | start, values =
  concat | short | axis =
  roll | short | return self.roll(
  stack | stack | return f
  a product | short | one, other =
  products | short | one, other =
  a form of its own | short | return write(
  planned memory for a group | call_into | self.places[ref] = place
  new memory by a group | call_into | new.append(
  planned memory for blocks | blocks | self.places[ref] = place
  memory for blocks | blocks | self.lines.append(f'{self.name(ref)} = {self._array(
  an addition by a key | scatter | self.lines.append(f'{target}[
  an addition by indices | scatter | function =
  an input without axes as a scalar | operand | return self._numbers.setdefault(
  a room | _rooms | room =
  values let go | is_named | large =

agnograd_jax._parts
  a part before a gather or for what is computed again | parts_of | parts.append(
  what is computed again is too much | add | if len(ways) >
  moved again | add | ways = {
  a gather by indices | _gathers | return source.size
  several parts | in_parts | known =

agnograd_jax.lowering
  tanh | by_tanh | given, function =
  a transposed matrix and a vector | by_columns | product =
  a quotient | by_quotient | divide =
  an inverse | by_factors | inverse =
  constants of one number | body | full =
"""


def _modules():
    found, rows = {}, []
    for line in filter(None, TABLE.splitlines()):
        if line.startswith("  "):
            rows.append(tuple(line.strip().split(" | ", 2)))
        else:
            rows = found.setdefault(line, [])
    return found


MODULES = _modules()
