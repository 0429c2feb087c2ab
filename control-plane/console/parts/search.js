/** A field that searches, by the `search` of the address. */
import { html, useEffect, useState } from '../dom.js';
import { changeQuery } from '../router.js';

/** Typing is over after so long. */
const pauseMs = 250;

/** @param {{ value: string, placeholder: string }} props */
export function Search({ value, placeholder }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => changeQuery({ search: typed.trim() }), pauseMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return html`<label class="field grow"
    ><span>Search</span
    ><input
      type="search"
      value=${typed}
      placeholder=${placeholder}
      onInput=${(/** @type {InputEvent & { currentTarget: HTMLInputElement }} */ event) => setTyped(event.currentTarget.value)}
  /></label>`;
}
