/**
 * What agents write into the `request` and the `response` of an exchange, as far as others read it. Which
 * fields there are depends on the check type; the schema of results leaves them open. Times in milliseconds.
 */
import type { BaselineReport } from './checks/ssl-baseline.ts';

type Headers = Record<string, string | string[] | undefined>;

export interface ShownRequest {
  method?: string;
  url?: string;
  headers?: Headers;
  params?: Headers;
  data?: unknown;
  hostname?: string;
  port?: number;
  sslConfig?: { hostname: string; port: number };
  grpcConfig?: {
    mode: string;
    method?: string | undefined;
    service?: string | undefined;
    message: string;
    metadata: { key: string; value: string }[];
    [further: string]: unknown;
  };
  [further: string]: unknown;
}

interface Latency {
  avg: number;
  min: number;
  max: number;
}

/** A certificate as SSL checks show it. */
export interface ShownCertificate {
  /** `CN=shop.example,O=Shop,C=DE`. */
  subject: string;
  issuer: string;
  subjectCN: string;
  issuerCN: string;
  /** Decimal. */
  serialNumber: string;
  /** ISO 8601 in UTC. */
  notBefore: string;
  notAfter: string;
  sans: string[];
  /** 64 hexadecimal digits. */
  fingerprintSha256: string;
  /** Empty where the issuer was not sent. */
  issuerFingerprintSha256: string;
  signatureAlgorithm: string;
  keyAlgorithm: string;
  keySizeBits: number | null;
  selfSigned: boolean;
  isCA: boolean;
}

/** The `response` of an SSL check. */
export interface SslResponse {
  certificate: ShownCertificate;
  /** The issuers, as far as they are known. */
  chain: ShownCertificate[];
  securityBaseline: (Pick<BaselineReport, 'verdict' | 'grade'> & BaselineReport['rules']) | null;
  daysUntilExpiry: number;
  hostnameVerified: boolean;
  chainTrusted: boolean;
  chainProblem: string | null;
  tlsVersion: string;
  cipherSuite: string;
  ocspStapled: boolean;
  ocspStatus: string | null;
  [further: string]: unknown;
}

/** Why a traceroute monitor went no further. */
export type TruncationReason = 'destinationReached' | 'maxHops' | 'maxUnknownHops' | 'timeout';

export interface ShownHop {
  hop_number: number;
  /** Empty where nobody answered. */
  main_ip: string;
  main_host: string;
  sent: number;
  loss_percentage: number;
  rtt: Record<'last_ms' | 'avg_ms' | 'best_ms' | 'worst_ms' | 'stddev_ms', number | null> | null;
  note: string | null;
  [further: string]: unknown;
}

/** The `response` of a traceroute monitor. */
export interface TracerouteResponse {
  hops: ShownHop[];
  truncationReason: TruncationReason;
  totalHops: number;
  protocol: string;
  port: number;
  packetLoss: number;
  finalHopLatency?: Latency;
  [further: string]: unknown;
}

/** The `response` of a gRPC check. */
export interface GrpcResponse {
  /** BEHAVIOR or HEALTH. */
  grpcMode: string;
  host: string;
  port: number;
  resolvedIp: string;
  ipFamily: string;
  /** `package.Service/Method`. */
  grpcMethod: string;
  /** JSON; null without one, or where results do not hold it. */
  responseMessage: string | null;
  truncated: boolean;
  grpcStatusCode: number;
  grpcStatusMessage: string;
  healthStatus: number | null;
  healthStatusLabel: string | null;
  /** Headers and trailers of the server. */
  metadata: { key: string; value: string }[];
  /** Methods of the service, where the server was asked for its types. */
  discoveredMethods: string[];
  requestError: string | null;
  timingPhases: { dns: number; connect: number; total: number };
  [further: string]: unknown;
}

/** The `response` of any check type. */
export interface ShownResponse {
  status?: number;
  statusText?: string;
  headers?: Headers;
  body?: string | null;
  data?: string | null;
  answer?: string;
  truncated?: boolean;
  /** How many there were. */
  redirects?: number;
  returnCode?: string;
  remoteAddress?: string | null;
  resolvedIp?: string;
  ipFamily?: string | null;
  latency?: Latency | null;
  packetLoss?: number;
  pingResults?: { success: boolean; rtt: number | null }[];
  timingPhases?: Record<string, number>;
  /** HTTPS servers are shown with the issuer and the end alone. */
  certificate?: ShownCertificate | { issuer: string; validTo: string } | null;
  chain?: ShownCertificate[];
  hops?: ShownHop[];
  responseMessage?: string | null;
  grpcStatusCode?: number;
  grpcStatusMessage?: string;
  healthStatusLabel?: string | null;
  metadata?: { key: string; value: string }[];
  [further: string]: unknown;
}
