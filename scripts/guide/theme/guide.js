/** The parts of a page that need a script: the search, buttons that copy, and the menu of wide screens. */
import MiniSearch from 'minisearch';
import { searchOptions } from './search-options.js';

const maxResults = 12;
/** The page of an address that leads nowhere may lie below it. */
const fromGuide = (path) => new URL(path, import.meta.url).href;
const byId = (id) => document.getElementById(id);
const dialog = byId('search');
const query = byId('query');
const results = byId('results');
const found = byId('found');

/** @type {Promise<MiniSearch> | undefined} */
let index;

/** Fetched with the first search. After a failure the next search tries again. */
async function readIndex() {
  index ??= fetch(fromGuide('search.json')).then(async (response) => {
    if (!response.ok) throw new Error(String(response.status));
    return MiniSearch.loadJSON(await response.text(), searchOptions);
  });
  try {
    return await index;
  } catch (error) {
    index = undefined;
    throw error;
  }
}

function resultItem({ id, title, heading, excerpt }) {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = fromGuide(id);
  const name = document.createElement('strong');
  name.textContent = heading === '' ? title : `${title} › ${heading}`;
  const text = document.createElement('span');
  text.textContent = excerpt;
  link.append(name, text);
  item.append(link);
  return item;
}

async function search() {
  const asked = query.value.trim();
  if (asked === '') {
    results.replaceChildren();
    found.textContent = '';
    return;
  }
  try {
    const all = (await readIndex()).search(asked);
    if (query.value.trim() !== asked) return;
    results.replaceChildren(...all.slice(0, maxResults).map(resultItem));
    found.textContent = all.length === 0 ? `Nothing about “${asked}”.` : `${all.length} found`;
  } catch {
    results.replaceChildren();
    found.textContent = 'The search index could not be loaded. Type again to retry.';
  }
}

function openSearch() {
  dialog.showModal();
  query.select();
}

const opener = byId('open-search');
opener.hidden = false;
opener.addEventListener('click', openSearch);
query.addEventListener('input', () => void search());
dialog.querySelector('form').addEventListener('submit', (event) => {
  const chosen = results.querySelector('a');
  if (event.submitter !== null && event.submitter.matches(':focus')) return;
  event.preventDefault();
  chosen?.click();
});
results.addEventListener('click', (event) => {
  if (event.target.closest('a')) dialog.close();
});
dialog.addEventListener('click', (event) => {
  if (event.target === dialog) dialog.close();
});
dialog.addEventListener('keydown', (event) => {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const stops = [query, ...results.querySelectorAll('a')];
  const at = stops.indexOf(document.activeElement) + (event.key === 'ArrowDown' ? 1 : -1);
  stops.at(at % stops.length)?.focus();
  event.preventDefault();
});
document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest?.('input, textarea') !== null;
  const asks = event.key === '/' || (event.key === 'k' && (event.ctrlKey || event.metaKey));
  if (!asks || isTyping || dialog.open) return;
  event.preventDefault();
  openSearch();
});

for (const block of document.querySelectorAll('.code')) {
  if (!navigator.clipboard) break;
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.querySelector('code').textContent);
    button.textContent = 'Copied';
  });
  block.append(button);
}

const menu = byId('menu');
const wide = matchMedia('(min-width: 60rem)');
const fit = () => (menu.open = wide.matches);
fit();
wide.addEventListener('change', fit);
menu.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
