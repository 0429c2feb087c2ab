/** What is known of a minute: its runs, its locations and the changes before it. Instants in milliseconds. */

/** The way to a target, as a traceroute saw it. */
export interface Path {
  isReached: boolean;
  /** In order; a silent hop has no address. */
  hops: readonly { hop: number; address: string | null; note: string | null }[];
}

/** Milliseconds by phase, as far as they were measured. */
export type Times = Partial<Record<Phase, number>>;
export const phases = ['dns', 'connect', 'tls', 'answer', 'download'] as const;
export type Phase = (typeof phases)[number];

/** The last pass of the same check at the same location. */
export interface LastPass {
  at: number;
  address: string | null;
  times: Times;
}

export interface RunFacts {
  checkId: string;
  checkName: string;
  checkType: string;
  resultId: string;
  /** Display name. */
  location: string;
  startedAt: number;
  /** When the present problem of the check began. */
  since: number;
  outcome: 'passing' | 'degraded' | 'failing' | 'error';
  /** The name or address that the check asks. */
  host: string | null;
  port: number | null;
  /** The address that it led to. */
  address: string | null;
  /** The failure in one line. */
  text: string | null;
  /** Code of the failure, or of the agent error. */
  code: string | null;
  /** Phase of the failure, in the words of agents. */
  phase: string | null;
  isProxied: boolean;
  status: number | null;
  path: Path | null;
  times: Times;
  lastPass: LastPass | null;
  issuer: string | null;
  validTo: number | null;
  /** The first assertion that does not hold. */
  broken: { source: string; text: string } | null;
  /** The answer of a name server. */
  answer: { code: string; records: readonly string[] } | null;
  /** Of runs of code: where it stopped, and other hosts whose requests failed. */
  script: { step: string | null; foreign: readonly { host: string; what: string }[] } | null;
  /** The agent had to wait for a CPU. */
  isStrained: boolean;
  /** False for an encrypted result and for one without details. */
  isReadable: boolean;
}

export interface LocationFacts {
  /** Display name. */
  location: string;
  overload: { since: number; reason: string | null } | null;
}

/** A change of a check by a person, a key or a deployment. */
export interface ChangeFacts {
  checkId: string;
  at: number;
}

export interface Minute {
  runs: readonly RunFacts[];
  locations: readonly LocationFacts[];
  changes: readonly ChangeFacts[];
}

/** What a run shows of its problem, before anything is concluded from it. */
export type Symptom =
  | 'agent'
  | 'hidden'
  | 'check'
  | 'name'
  | 'answer'
  | 'refused'
  | 'silent'
  | 'cut'
  | 'waiting'
  | 'certificate'
  | 'tls'
  | 'proxy'
  | 'status'
  | 'content'
  | 'loss'
  | 'slow'
  | 'script';

const byCode: Readonly<Record<string, Symptom>> = {
  ...{ ENOTFOUND: 'name', ENODATA: 'name', ESERVFAIL: 'name', ETIMEOUT: 'name' },
  ...{ EAI_AGAIN: 'name', EREFUSED: 'name', NXDOMAIN: 'name', SERVFAIL: 'name', REFUSED: 'name' },
  ...{ ECONNREFUSED: 'refused', PROXY_CONNECT_FAILED: 'proxy' },
  ...{ EHOSTUNREACH: 'silent', EHOSTDOWN: 'silent', ENETUNREACH: 'silent', EACCES: 'silent' },
  ...{ PACKETS_LOST: 'silent', NOT_REACHED: 'silent', SOME_PACKETS_LOST: 'loss' },
  ...{ ECONNRESET: 'cut', EPIPE: 'cut', SOCKET_CLOSED: 'cut', BODY_INCOMPLETE: 'cut' },
  ...{ ECONNABORTED: 'cut', HTTP2_GOAWAY: 'cut' },
  ...{ INVALID_REQUEST: 'check', INVALID_NAME: 'check', INVALID_NAME_SERVER: 'check' },
  ...{ VARIABLE_MISSING: 'check', ERR_INVALID_IP_ADDRESS: 'check' },
};
const silences = new Set(['TIMEOUT', 'SOCKET_TIMEOUT', 'CONNECT_TIMEOUT', 'ETIMEDOUT']);
const certificateCode = /^CERT_|SIGNATURE|ISSUER|SELF_SIGNED|ALTNAME/;
const ofTls = /^ERR_SSL|^ERR_TLS|^EPROTO$/;

/** Null for a pass. */
export function symptomOf(run: RunFacts): Symptom | null {
  const { outcome, code, phase, status, script, broken, answer, text } = run;
  if (outcome === 'passing') return null;
  if (outcome === 'error') return 'agent';
  if (!run.isReadable) return 'hidden';
  if (code !== null) {
    const known = byCode[code];
    if (known !== undefined) return known;
    if (silences.has(code)) return phase === 'connect' ? 'silent' : 'waiting';
    if (certificateCode.test(code)) return 'certificate';
    if (ofTls.test(code)) return 'tls';
  }
  if (script !== null) return 'script';
  if (status !== null && status >= 400) return 'status';
  if (broken?.source === 'RESPONSE_TIME') return 'slow';
  if (broken === null && code === null && text === null) return 'slow';
  return answer === null ? 'content' : 'answer';
}

/** What belongs together by its name: the registered domain of a name, the network of an address. */
export function siteOf({ host, address }: Pick<RunFacts, 'host' | 'address'>): string {
  const name = host ?? address ?? '';
  if (/^[\d.]+$/.test(name)) return name.split('.').slice(0, 3).join('.');
  if (name.includes(':')) return name.split(':').slice(0, 4).join(':');
  const labels = name.toLowerCase().replace(/\.$/, '').split('.');
  // `shop.co.uk` is a site; `co.uk` is none.
  const isSplit = /^[a-z]{2}$/.test(labels.at(-1) ?? '') && (labels.at(-2)?.length ?? 9) <= 3;
  return labels.slice(isSplit ? -3 : -2).join('.');
}

/** `shop.example:443`. */
export function placeOf({ host, address, port }: RunFacts): string {
  const name = host ?? address ?? 'the target';
  const shown = name.includes(':') ? `[${name}]` : name;
  return port === null ? name : `${shown}:${port}`;
}
