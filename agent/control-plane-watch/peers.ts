/**
 * What agents say to each other about the control plane, on the health port. It is no secret, but a forged
 * answer must not silence an agent: each answer is signed with the key of the account.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Capabilities } from '@monitor/shared/contract/agent-protocol.ts';
import {
  maxAddresses,
  type ControlPlaneWatch,
} from '@monitor/shared/contract/control-plane-watch.ts';
import { request } from 'undici';
import { z } from 'zod';
import type { PeerAnswer } from './decide-speaker.ts';

export const peerPath = '/-/control-plane';
const proofHeader = 'x-proof';
const noncePattern = /^[0-9a-f]{32}$/;
const answersWithinMs = 3_000;
const maxAnswerBytes = 2_000;

const peerAnswer = z.object({
  agentId: z.uuid(),
  awayMs: z.number().min(0).nullable(),
  hasSpoken: z.boolean(),
});

const proofOf = (key: string, nonce: string, body: string): string =>
  createHmac('sha256', Buffer.from(key, 'base64')).update(`${nonce}\n${body}`).digest('hex');

/** An answer to another agent, with its proof. */
export interface SignedAnswer {
  body: string;
  headers: Record<string, string>;
}

/** Null for a nonce that is none. */
export function signedAnswer(
  key: string,
  nonce: string | null,
  answer: PeerAnswer,
): SignedAnswer | null {
  if (nonce === null || !noncePattern.test(nonce)) return null;
  const body = JSON.stringify(answer);
  return { body, headers: { [proofHeader]: proofOf(key, nonce, body) } };
}

async function askAt(
  address: string,
  port: number,
  { agentId, key }: { agentId: string; key: string },
): Promise<PeerAnswer> {
  const nonce = randomBytes(16).toString('hex');
  const host = isIP(address) === 6 ? `[${address}]` : address;
  const { statusCode, headers, body } = await request(
    `http://${host}:${port}${peerPath}?nonce=${nonce}`,
    { signal: AbortSignal.timeout(answersWithinMs) },
  );
  let text = '';
  for await (const chunk of body) {
    text += String(chunk);
    if (text.length > maxAnswerBytes) throw new Error('it says too much');
  }
  const given = Buffer.from(String(headers[proofHeader] ?? ''));
  const expected = Buffer.from(proofOf(key, nonce, text));
  if (statusCode !== 200 || given.length !== expected.length || !timingSafeEqual(given, expected))
    throw new Error('it is no agent of this account');
  const answer = peerAnswer.parse(JSON.parse(text));
  // The address may be the one of another machine by now, or of this one.
  if (answer.agentId !== agentId) throw new Error('it is another agent');
  return answer;
}

/** The answers of those that can be reached, all at once. */
export async function askPeers({ peers, key }: ControlPlaneWatch): Promise<PeerAnswer[]> {
  const answers = await Promise.all(
    peers.map(({ agentId, port, addresses }) =>
      Promise.any(addresses.map((address) => askAt(address, port, { agentId, key }))).catch(
        () => null,
      ),
    ),
  );
  return answers.filter((answer) => answer !== null);
}

/** Where other machines reach the health port. */
export function ownAddress(host: string, port: number): Capabilities['peer'] {
  const isAny = host === '::' || host === '0.0.0.0';
  const addresses = isAny
    ? Object.values(networkInterfaces())
        .flatMap((of = []) => of)
        .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
        .map(({ address }) => address)
    : [host];
  // One with the name of an interface means nothing to others.
  const known = addresses.filter((address) => isIP(address) !== 0 && !address.includes('%'));
  return known.length === 0 ? undefined : { port, addresses: known.slice(0, maxAddresses) };
}
