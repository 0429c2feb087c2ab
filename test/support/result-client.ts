/** A client that waits for results of test sessions, as existing ones do: MQTT over WebSocket. */
import { connectAsync, type MqttClient } from 'mqtt';
import { eventually } from './system.ts';

export interface ReceivedMessage {
  topic: string;
  /** The last level of the topic. */
  kind: string;
  sequenceId: string;
  // Tests look into messages of every shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

export interface ResultClient extends AsyncDisposable {
  mqtt: MqttClient;
  messages: ReceivedMessage[];
  /** Resolves when the broker has disconnected it. */
  closed: Promise<void>;
  /** What ended checks, once there are so many. */
  ends(count: number): Promise<ReceivedMessage[]>;
}

const isEnd = ({ kind, body }: ReceivedMessage): boolean =>
  kind === 'error' || (kind === 'result' && body.resultType === 'FINAL');

/** Connects; rejects when the broker refuses it. */
export async function connectToBroker(
  url: string,
  { accountId, apiKey }: { accountId: string; apiKey: string },
  /** Milliseconds until it connects again; 0 for never. */
  reconnectPeriod = 0,
): Promise<ResultClient> {
  const mqtt = await connectAsync(
    `${url.replace('http', 'ws')}/?authenticationScheme=userApiKey`,
    { username: accountId, password: apiKey, reconnectPeriod, connectTimeout: 120_000 },
    false,
  );
  const messages: ReceivedMessage[] = [];
  mqtt.on('message', (topic, payload) => {
    const levels = topic.split('/');
    messages.push({
      ...{ topic, kind: levels.at(-1) ?? '', sequenceId: levels[4] ?? '' },
      body: JSON.parse(payload.toString('utf8')) as unknown,
    });
  });
  // Tests look at the close, which follows.
  mqtt.on('error', () => undefined);
  const { promise: closed, resolve } = Promise.withResolvers<undefined>();
  mqtt.once('close', () => {
    resolve(undefined);
  });
  return {
    ...{ mqtt, messages, closed },
    async ends(count) {
      const found = () => messages.filter(isEnd);
      await eventually(
        () => Promise.resolve(found().length >= count),
        () => `${count} ends of checks in ${JSON.stringify(messages)}`,
      );
      return found();
    },
    async [Symbol.asyncDispose]() {
      await mqtt.endAsync(true);
    },
  };
}

export const topicsOf = (accountId: string, suiteId: string): string =>
  `account/${accountId}/ad-hoc-check-results/${suiteId}/+/+/+`;
