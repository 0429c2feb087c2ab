/** Opens encrypted results with the user's key file. */
import { Refusal } from './notices.tsx';
import { forgetKey, keptKeyFile, needsPassphrase, useKeyFile, type Shown } from '../decryption.ts';
import { useEffect, useState } from 'preact/hooks';
import { Section } from './layout.tsx';

type Typed = Event & { currentTarget: HTMLInputElement };

export function Unlock({ shown }: { shown: Shown }) {
  const [text, setText] = useState(keptKeyFile() ?? '');
  const [asksPassphrase, setAsksPassphrase] = useState(false);
  const [passphrase, setPassphrase] = useState('');
  const [isKept, setKept] = useState(text !== '');
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const attempt = async (work: () => Promise<void>) => {
    setBusy(true);
    setProblem('');
    try {
      await work();
    } catch (error) {
      setProblem(`The key cannot be used: ${error instanceof Error ? error.message : error}.`);
    }
    setBusy(false);
  };
  const take = async (file: string) => {
    setText(file);
    const isAsked = await needsPassphrase(file);
    setAsksPassphrase(isAsked);
    if (!isAsked && keptKeyFile() === file) await useKeyFile(file, '', true);
  };
  useEffect(() => {
    if (text !== '') void attempt(() => take(text));
  }, []);
  const onFile = ({ currentTarget }: Typed) =>
    attempt(async () => {
      const [file] = currentTarget.files ?? [];
      if (file !== undefined) await take(await file.text());
    });
  const onSubmit = (event: Event) => {
    event.preventDefault();
    void attempt(() => useKeyFile(text, passphrase, isKept));
  };
  const trouble = problem === '' ? shown.problem : problem;
  return (
    <Section title="Encrypted">
      <form class="card unlock" onSubmit={onSubmit}>
        <p>
          The agent encrypted what this run saw. Your key decrypts it here, in this browser; it is
          not sent to the control plane.
        </p>
        <Refusal text={trouble} />
        <label class="field">
          Key file
          <input type="file" onChange={(event) => void onFile(event)} />
        </label>
        {asksPassphrase && (
          <label class="field">
            Passphrase
            <input
              type="password"
              autocomplete="off"
              value={passphrase}
              onInput={(event) => setPassphrase(event.currentTarget.value)}
            />
          </label>
        )}
        <label class="check-field">
          <input
            type="checkbox"
            checked={isKept}
            onChange={(event) => setKept(event.currentTarget.checked)}
          />
          <span>Keep the key file in this tab until it is closed</span>
        </label>
        <div class="actions">
          <button class="primary" disabled={text === '' || isBusy}>
            Decrypt
          </button>
        </div>
      </form>
    </Section>
  );
}

export function Unlocked({ keyId }: { keyId: string }) {
  return (
    <p class="notice unlocked">
      <span>
        Decrypted in this browser with the key <code>{keyId}</code>.
      </span>
      <button type="button" class="plain-button" onClick={forgetKey}>
        Forget the key
      </button>
    </p>
  );
}
