/** What the server says about the values in a form before they are saved. */
/** @import { DataAt, PathOf } from '../contract.ts' */
import { useEffect, useState } from '../dom.js';
import { call, toProblem } from '../api.js';
import { wordsOf } from '../parts/notices.js';

/** After the last change of the values. */
const waitMs = 500;

/**
 * The answer to values, once nothing was typed for a while; the one before until then. Null asks nothing.
 * @template {PathOf<'POST'>} Path
 * @param {Path} path
 * @param {object | null} body
 * @returns {{ data: DataAt<Path, 'POST'> | null, problem: string }}
 */
export function usePreview(path, body) {
  const [data, setData] = useState(/** @type {DataAt<Path, 'POST'> | null} */ (null));
  const [problem, setProblem] = useState('');
  const text = JSON.stringify(body);

  useEffect(() => {
    if (body === null) {
      setData(null);
      setProblem('');
      return undefined;
    }
    const stop = new AbortController();
    const ask = async () => {
      try {
        const answer = await call(path, {
          method: 'POST',
          body: /** @type {any} */ (body),
          signal: stop.signal,
        });
        setData(answer.data);
        setProblem('');
      } catch (error) {
        if (!stop.signal.aborted) setProblem(wordsOf(toProblem(error)));
      }
    };
    const timer = setTimeout(() => void ask(), waitMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [path, text]);
  return { data, problem };
}
