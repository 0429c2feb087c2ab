/** The first check: its target is enough. */
import { html, useState } from '../dom.js';
import { call, toProblem } from '../api.js';
import { wordsOf } from '../parts/notices.js';
import { link } from '../router.js';
import { createLine, sharedByLines } from './create-line.js';
import { readLine } from './read-line.js';

/** @typedef {Event & { currentTarget: HTMLInputElement }} Typed */

export function FirstCheck() {
  const [target, setTarget] = useState('');
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const create = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const line = readLine(target);
    if (line === null) {
      setProblem('A URL, a host or host:port is needed.');
      return;
    }
    setBusy(true);
    try {
      const [places, channels] = await Promise.all([
        call('v1/private-locations'),
        call('v1/alert-channels', { query: { limit: 100 } }),
      ]);
      const shared = sharedByLines(places.data, channels.data);
      location.hash = link('checks', await createLine(line, shared));
    } catch (error) {
      setProblem(wordsOf(toProblem(error)));
      setBusy(false);
    }
  };
  return html`<form class="card" onSubmit=${create} novalidate>
    <label class="field block"
      ><span>What to watch</span
      ><input
        aria-describedby="first-check-problem"
        aria-invalid=${problem !== ''}
        placeholder="https://shop.example/health"
        spellcheck="false"
        value=${target}
        onInput=${(/** @type {Typed} */ { currentTarget: { value } }) => setTarget(value)}
      />
      <span class="help">A URL, a host or host:port. Everything else can be changed later.</span></label
    >
    <p class="bad" id="first-check-problem" role="alert">${problem}</p>
    <button type="submit" class="primary" disabled=${isBusy}>Watch it</button>
  </form>`;
}
