/** A field that searches, by the `search` of the address. */
import { useEffect, useState } from 'preact/hooks';
import { changeQuery } from '../router.ts';

/** Typing is over after so long. */
const pauseMs = 250;

export function Search({ value, placeholder }: { value: string; placeholder: string }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => changeQuery({ search: typed.trim() }), pauseMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <label class="field grow">
      <span>Search</span>
      <input
        type="search"
        value={typed}
        placeholder={placeholder}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
    </label>
  );
}
