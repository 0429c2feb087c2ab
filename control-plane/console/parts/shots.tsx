/** Screenshots: thumbnails, enlarged by a click. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { safeLink } from '../format.ts';

function Whole({ link, name, onClose }: { link: string; name: string; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement | null>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label={name} onClose={onClose}>
      <div class="actions">
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
        {
          // Browsers open no data URL by itself.
          !link.startsWith('data:') && (
            <a class="button" href={link} target="_blank" rel="noopener">
              Open in a new tab
            </a>
          )
        }
      </div>
      <img src={link} alt={name} />
    </dialog>
  );
}

export function Shots({
  links,
  name,
  isLarge = false,
}: {
  links: string[];
  name: string;
  isLarge?: boolean;
}) {
  const [opened, setOpened] = useState<{ link: string; title: string } | null>(null);
  const usable = links.filter((link) => safeLink(link) !== null);
  if (usable.length === 0) return null;
  return (
    <>
      <div class={isLarge ? 'shots large' : 'shots'}>
        {usable.map((link, index) => {
          const title = isLarge ? `Screenshot of ${name}` : `Screenshot ${index + 1} of ${name}`;
          return (
            <button
              type="button"
              class="shot"
              key={link}
              onClick={() => setOpened({ link, title })}
            >
              <img src={link} alt={title} loading="lazy" />
            </button>
          );
        })}
      </div>
      {opened !== null && (
        <Whole link={opened.link} name={opened.title} onClose={() => setOpened(null)} />
      )}
    </>
  );
}
