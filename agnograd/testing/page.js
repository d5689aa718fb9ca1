const $ = (id) => document.getElementById(id);
const element = (tag, text, attributes = {}) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};
const row = (cells, tag = "td") => {
  const made = element("tr");
  for (const cell of cells) made.append(cell instanceof Node ? cell : element(tag, cell));
  return made;
};
