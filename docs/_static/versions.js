// Offer the same page in other versions. A site has each version in a folder of its name, and above
// them versions.json, the list of the names, newest first: tools/site.py writes it. Pages that are
// opened as files, or are built for one version only, have none, and stay as they are.
const select = document.querySelector(".sidebar-versions select");

async function offer() {
  const own = select.value;
  const above = new URL(select.dataset.above, location.href);
  const answer = await fetch(new URL("versions.json", above));
  if (!answer.ok) return;
  const options = (await answer.json()).map((name) => new Option(name, name, false, name === own));
  if (!options.some((option) => option.value === own)) options.unshift(select.options[0]);
  select.replaceChildren(...options);
  select.addEventListener("change", () => open(above, own, select.value));
}

// The page may be new, or have had another name: then the first page of that version it is.
async function open(above, own, version) {
  const folder = new URL(`${version}/`, above);
  const page = new URL(location.pathname.slice(new URL(`${own}/`, above).pathname.length), folder);
  const found = await fetch(page, { method: "HEAD" }).catch(() => ({ ok: false }));
  location.assign(found.ok ? page.href + location.hash : folder);
}

if (location.protocol !== "file:") offer().catch(() => {});
