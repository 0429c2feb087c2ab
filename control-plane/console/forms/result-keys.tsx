/** The public keys for which agents of a location encrypt results. */
import type { DataAt } from '../contract.ts';
import { call } from '../api.ts';
import { makeKeyFile } from '../decryption.ts';
import { useState } from 'preact/hooks';
import { Ask } from '../parts/ask.tsx';
import { Action, Section, Table } from '../parts/layout.tsx';
import { Empty, useAttempt } from '../parts/notices.tsx';
import { Time } from '../parts/time.tsx';

type PrivateLocation = DataAt<`v1/private-locations/${string}`>;
type ResultKey = PrivateLocation['resultEncryptionKeys'][number];
type Typed = Event & { currentTarget: HTMLInputElement };

function saveFile(name: string, text: string) {
  const anchor = document.createElement('a');
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

export function ResultKeys({ location, may }: { location: PrivateLocation; may: boolean }) {
  const [name, setName] = useState('');
  const [publicKey, setPublicKey] = useState('');
  const [passphrase, setPassphrase] = useState('');
  const [removed, setRemoved] = useState<ResultKey | null>(null);
  const [problem, attempt] = useAttempt();
  const keys = location.resultEncryptionKeys;
  const save = async (next: { name: string; publicKey: string }[]) => {
    await call(`v1/private-locations/${location.id}`, {
      method: 'PUT',
      body: { name: location.name, resultEncryptionKeys: next },
    });
    setName('');
    setPublicKey('');
    setPassphrase('');
  };
  const given = keys.map((key) => ({ name: key.name, publicKey: key.publicKey }));
  const add = attempt(() => save([...given, { name, publicKey }]));
  const make = attempt(async () => {
    const file = await makeKeyFile(passphrase);
    // The file first: results for a key that nobody has are lost.
    saveFile(`${location.slugName}-results.key`, `${JSON.stringify(file, null, 2)}\n`);
    await save([...given, { name, publicKey: file.publicKey }]);
  });
  const remove = attempt(async () => {
    await save(given.filter((key) => key.publicKey !== removed?.publicKey));
    setRemoved(null);
  });
  const typed = (set: (text: string) => void) => (event: Typed) => set(event.currentTarget.value);
  return (
    <Section title="Encrypted results">
      {problem}
      {keys.length === 0 ? (
        <Empty title="Results are readable here">
          With a key, agents encrypt what results contain, and only its owner reads them.
        </Empty>
      ) : (
        <Table label="Encryption keys" columns={['Name', 'Key', 'Added', ['', 'right']]}>
          {keys.map((key) => (
            <tr key={key.id}>
              <th scope="row">{key.name}</th>
              <td>
                <code>{key.id}</code>
              </td>
              <td>
                <Time at={key.created_at} />
              </td>
              <td class="right">
                <button type="button" disabled={!may} onClick={() => setRemoved(key)}>
                  Remove
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
      <div class="card result-keys">
        <label class="field">
          Name of the key
          <input value={name} maxlength={255} onInput={typed(setName)} />
        </label>
        <label class="field">
          Passphrase of the new key (optional)
          <input
            type="password"
            autocomplete="new-password"
            value={passphrase}
            onInput={typed(setPassphrase)}
          />
        </label>
        <Action word="Create key pair" busy="Creating" run={make} disabled={!may || name === ''} />
        <label class="field grow">
          Or an existing public key
          <input class="mono" placeholder="rk1_…" value={publicKey} onInput={typed(setPublicKey)} />
        </label>
        <Action
          word="Add public key"
          busy="Adding"
          run={add}
          disabled={!may || name === '' || publicKey === ''}
        />
        <p class="muted">
          A new private key is saved as a file by this browser and is at no other place: keep it,
          and a copy. Without it, results cannot be read again.
        </p>
      </div>
      {removed !== null && (
        <Ask
          title={`Remove ${removed.name}?`}
          yes="Remove"
          onYes={remove}
          onNo={() => setRemoved(null)}
          problem={problem}
        >
          New results are not encrypted for it. It goes on reading the older ones.
          {keys.length === 1 && ' It is the last key: new results are readable here from then on.'}
        </Ask>
      )}
    </Section>
  );
}
