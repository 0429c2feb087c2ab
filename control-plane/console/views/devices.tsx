/** The devices of the person that get notifications. */
import { useEffect, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { browserName } from '../browser-name.ts';
import { Action, Section } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Ago } from '../parts/time.tsx';
import { addThis, devicesPath } from '../own-device.ts';
import { hashOf, present, pushProblem, subscribe, unsubscribe } from '../push.ts';
import { useQuery } from '../query.ts';
import { problemOf } from './people-form.tsx';

export function Devices() {
  const read = useQuery(devicesPath);
  const [hash, setHash] = useState<string | null>(null);
  const [said, setSaid] = useState('');
  const [problem, setProblem] = useState(pushProblem);
  const findThis = async () => {
    const subscription = await present().catch(() => null);
    setHash(subscription && (await hashOf(subscription)));
  };
  useEffect(() => void findThis(), []);
  const { publicKey, devices = [] } = read.data ?? {};
  const isOn = devices.some(({ endpointHash }) => endpointHash === hash);

  /** Shows what went wrong, and what is there now. */
  const act = (work: () => Promise<string>) => async () => {
    setSaid('');
    const refused = await problemOf(async () => setSaid(await work()));
    if (refused !== null) setSaid(refused.message);
    setProblem(pushProblem());
    await findThis();
  };
  const turnOn = act(async () => {
    const made = await subscribe(publicKey ?? '');
    if (made.problem !== undefined) return made.problem;
    await addThis(browserName(navigator.userAgent), made.subscription);
    return 'Notifications are on.';
  });
  const test = (id: number, isThis: boolean) =>
    act(async () => {
      const { data } = await call(`${devicesPath}/${encodeURIComponent(id)}/test`, {
        method: 'POST',
      });
      if (data.status === 'SUCCESS') return 'The test was sent.';
      if (data.result === null) return 'The test is being sent.';
      const { data: left } = await call(devicesPath);
      // An address that the push service does not know is none to turn on again.
      if (isThis && left.devices.every((each) => each.id !== id)) await unsubscribe();
      return `Not sent: ${data.result}`;
    });
  const remove = (id: number) =>
    act(async () => {
      await call(`${devicesPath}/${encodeURIComponent(id)}`, { method: 'DELETE' });
      return 'The device was removed.';
    });

  return (
    <Section title="Notifications on this device">
      <p>
        Alerts reach your devices when an escalation policy notifies you, in addition to the mail.
        You can acknowledge them from the lock screen.
      </p>
      {List({
        read,
        label: 'Devices',
        columns: ['Device', 'Last delivered', ['Added', 'wide-only'], ''],
        pick: (all) => all.devices,
        row: ({ id, name, endpointHash, lastSuccessAt, created_at: added }) => (
          <tr key={id}>
            <th scope="row">
              {name} {endpointHash === hash && <span class="tag">this one</span>}
            </th>
            <td>{lastSuccessAt === null ? 'never' : <Ago at={lastSuccessAt} />}</td>
            <td class="wide-only">
              <Ago at={added} />
            </td>
            <td class="right">
              <Action word="Send a test" busy="Sending" run={test(id, endpointHash === hash)} />{' '}
              <Action word="Remove" busy="Removing" run={remove(id)} />
            </td>
          </tr>
        ),
      })}
      {said !== '' && <p role="status">{said}</p>}
      {problem !== '' && <p class="notice">{problem}</p>}
      {problem === '' && !isOn && publicKey !== undefined && (
        <Action word="Turn on" busy="Turning on" run={turnOn} />
      )}
    </Section>
  );
}
