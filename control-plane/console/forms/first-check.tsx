/** The first check: its target is enough. */
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { toProblem } from '../problem.ts';
import { wordsOf } from '../parts/notices.tsx';
import { link } from '../router.ts';
import { createLine, sharedByLines } from './create-line.ts';
import { readLine } from './read-line.ts';

export function FirstCheck() {
  const [target, setTarget] = useState('');
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const create = async (event: Event) => {
    event.preventDefault();
    const line = readLine(target);
    if (line === null) {
      setProblem('Enter a URL, a host or host:port.');
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
  return (
    <form class="card" onSubmit={(event) => void create(event)} novalidate>
      <label class="field block">
        <span>URL or host</span>
        <input
          aria-describedby="first-check-problem"
          aria-invalid={problem !== ''}
          placeholder="https://shop.example/health"
          spellcheck={false}
          value={target}
          onInput={({ currentTarget: { value } }) => setTarget(value)}
        />
        <span class="help">A URL, a host or host:port. You can change everything later.</span>
      </label>
      <p class="bad" id="first-check-problem" role="alert">
        {problem}
      </p>
      <button type="submit" class="primary" disabled={isBusy}>
        Create monitor
      </button>
    </form>
  );
}
