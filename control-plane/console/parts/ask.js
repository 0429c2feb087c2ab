/** A question before something is done that cannot be undone. */
/** @import { ComponentChildren } from 'preact' */
import { html, useEffect, useRef } from '../dom.js';
import { Action } from './layout.js';

/**
 * @param {{
 *   title: string,
 *   yes: string,
 *   onYes: () => Promise<unknown>,
 *   onNo: () => void,
 *   problem?: string,
 *   children?: ComponentChildren,
 * }} props
 */
export function Ask({ title, yes, onYes, onNo, problem = '', children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return html`<dialog class="ask" ref=${dialog} onClose=${onNo} aria-labelledby="ask-title">
    <h2 id="ask-title">${title}</h2>
    <p>${children}</p>
    ${problem !== '' && html`<p class="notice failure" role="alert">${problem}</p>`}
    <div class="form-end">
      <${Action} word=${yes} busy="Working" kind="danger" run=${onYes} />
      <button type="button" onClick=${onNo} autofocus>Cancel</button>
    </div>
  </dialog>`;
}
