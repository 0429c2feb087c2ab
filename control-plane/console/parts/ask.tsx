/** A question before something is done that cannot be undone. */
import { Refusal } from './notices.tsx';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Action } from './layout.tsx';

interface AskProps {
  title: string;
  yes: string;
  onYes: () => Promise<unknown>;
  onNo: () => void;
  problem?: ComponentChildren;
  children?: ComponentChildren;
}

export function Ask({ title, yes, onYes, onNo, problem = '', children }: AskProps) {
  const dialog = useRef<HTMLDialogElement | null>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog class="ask" ref={dialog} onClose={onNo} aria-labelledby="ask-title">
      <h2 id="ask-title">{title}</h2>
      <p>{children}</p>
      <Refusal text={problem} />
      <div class="form-end">
        <Action word={yes} busy="Working" kind="danger" run={onYes} />
        <button type="button" onClick={onNo} autofocus>
          Cancel
        </button>
      </div>
    </dialog>
  );
}
