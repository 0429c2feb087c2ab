/**
 * What agents need to say by themselves that the control plane is away: messages that it made while it
 * was there, and each other's addresses.
 */
import { z } from 'zod';

const text = (max: number) => z.string().max(max);
const webUrl = text(4_096).regex(/^https?:\/\//i);

const preparedRequest = z.object({
  kind: z.literal('http'),
  method: text(10),
  url: webUrl,
  headers: z.array(z.tuple([text(256), text(8_192)])).max(120),
  /** In base64; null for none. */
  body: text(200_000).nullable(),
});
const preparedMail = z.object({
  kind: z.literal('mail'),
  /** `smtp://user:password@host:587` */
  server: text(2_048).regex(/^smtps?:\/\//i),
  from: text(1_000),
  to: text(320),
  subject: text(1_000),
  text: text(100_000),
  html: text(200_000),
});

const example = {
  ...{ kind: 'http', method: 'POST', url: 'https://chat.example/hook', headers: [] },
  body: 'e30=',
};

/** Ready to be sent, with everything in it. */
export const preparedMessage = z
  .discriminatedUnion('kind', [preparedRequest, preparedMail])
  .meta({ example });
export type PreparedMessage = z.output<typeof preparedMessage>;

export const maxAddresses = 8;
const addresses = z.array(z.union([z.ipv4(), z.ipv6()])).max(maxAddresses);

/** Where other agents of the account reach the health port of an agent. */
export const peerAddress = z.object({ port: z.int().min(1).max(65_535), addresses });

export const maxPeers = 50;

export const controlPlaneWatch = z.object({
  /** Sent back with check-ins, so that it comes again only when it has changed. */
  digest: text(64),
  /** How long the control plane is away before anybody is notified. */
  awayAfterMs: z.int().min(1_000).max(86_400_000),
  /** 32 bytes in base64, of the account: agents prove by it who answers. */
  key: z.base64().length(44),
  peers: z.array(z.object({ agentId: z.uuid(), ...peerAddress.shape })).max(maxPeers),
  /** By channel. `back` is null where recoveries are not sent. */
  messages: z
    .array(
      z.object({
        channel: text(100),
        away: preparedMessage,
        back: preparedMessage.nullable().meta({ example }),
      }),
    )
    .max(20),
});
export type ControlPlaneWatch = z.output<typeof controlPlaneWatch>;
