/** What the server says about the values in a form before they are saved. */
import type { CallOptions, DataAt, PathOf } from '../contract.ts';
import { useEffect, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { toProblem } from '../problem.ts';
import { wordsOf } from '../parts/notices.tsx';

/** After the last change of the values. */
const waitMs = 500;

/**
 * The answer to values, once nothing was typed for a while; the one before until then. Null asks nothing.
 */
export function usePreview<Path extends PathOf<'POST'>>(
  path: Path,
  body: object | null,
): { data: DataAt<Path, 'POST'> | null; problem: string } {
  const [data, setData] = useState<DataAt<Path, 'POST'> | null>(null);
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
        const request = { method: 'POST', body, signal: stop.signal };
        const answer = await call(path, request as CallOptions<'POST', Path>);
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
