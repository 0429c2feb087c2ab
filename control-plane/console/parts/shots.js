/** Screenshots: thumbnails, enlarged by a click. */
import { html, useEffect, useRef, useState } from '../dom.js';
import { safeLink } from '../format.js';

/** @param {{ link: string, name: string, onClose: () => void }} props */
function Whole({ link, name, onClose }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => dialog.current?.showModal(), []);
  return html`<dialog ref=${dialog} aria-label=${name} onClose=${onClose}>
    <div class="actions">
      <button type="button" onClick=${() => dialog.current?.close()}>Close</button>
      ${
        // Browsers open no data URL by itself.
        !link.startsWith('data:') &&
        html`<a class="button" href=${link} target="_blank" rel="noopener">Open by itself</a>`
      }
    </div>
    <img src=${link} alt=${name} />
  </dialog>`;
}

/** @param {{ links: string[], name: string }} props */
export function Shots({ links, name }) {
  const [opened, setOpened] = useState(
    /** @type {{ link: string, title: string } | null} */ (null),
  );
  const usable = links.filter((link) => safeLink(link) !== null);
  if (usable.length === 0) return null;
  return html`<div class="shots">
      ${usable.map((link, index) => {
        const title = `Screenshot ${index + 1} of ${name}`;
        return html`<button
          type="button"
          class="shot"
          key=${link}
          onClick=${() => setOpened({ link, title })}
        >
          <img src=${link} alt=${title} loading="lazy" />
        </button>`;
      })}
    </div>
    ${
      opened !== null &&
      html`<${Whole} link=${opened.link} name=${opened.title} onClose=${() => setOpened(null)} />`
    }`;
}
