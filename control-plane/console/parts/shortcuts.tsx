/** The keys that work in every view: the command palette and the list of keys. */
import { useEffect, useState } from 'preact/hooks';
import { Picture } from './icons.tsx';
import { late } from './late.tsx';

const Palette = late(() => import('./palette.tsx').then((all) => all.Palette));
const Keys = late(() => import('./palette.tsx').then((all) => all.Keys));

export function Shortcuts() {
  const [shown, setShown] = useState<'palette' | 'keys' | null>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { target, key, ctrlKey, metaKey } = event;
      const isTyping =
        target instanceof Element && target.closest('input, select, textarea, dialog') !== null;
      if ((ctrlKey || metaKey) && key.toLowerCase() === 'k') {
        event.preventDefault();
        setShown('palette');
      } else if (key === '?' && !isTyping) setShown('keys');
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const close = () => setShown(null);
  return (
    <>
      <button type="button" class="find" title="Ctrl K" onClick={() => setShown('palette')}>
        <Picture name="search" /> <span>Go to …</span> <kbd aria-hidden="true">Ctrl K</kbd>
      </button>
      {shown === 'palette' && <Palette onClose={close} />}
      {shown === 'keys' && <Keys onClose={close} />}
    </>
  );
}
