/** Views that are loaded when they are first shown, so that the first page stays small. */
/** @import { ComponentType } from 'preact' */
import { html, useEffect, useState } from '../dom.js';
import { Failure, Loading } from './notices.js';
import { Problem } from '../api.js';

/**
 * A view of a module; its properties are those of the view.
 * @template {object} Props
 * @param {() => Promise<ComponentType<Props>>} load
 */
export function late(load) {
  /** @type {ComponentType<Props> | undefined} */
  let view;
  return (/** @type {Props} */ props) => {
    const [isBroken, setBroken] = useState(false);
    const [, redraw] = useState(0);
    useEffect(() => {
      if (view !== undefined || isBroken) return;
      load().then(
        (loaded) => {
          view = loaded;
          redraw((count) => count + 1);
        },
        () => setBroken(true),
      );
    }, [isBroken]);
    if (view !== undefined) return html`<${view} ...${props} />`;
    if (!isBroken) return html`<${Loading} />`;
    // After an upgrade, the files of the old version are gone.
    return html`<${Failure}
      problem=${new Problem(-1, 'this part of the console could not be loaded; reload the page')}
      reload=${() => setBroken(false)}
    />`;
  };
}
