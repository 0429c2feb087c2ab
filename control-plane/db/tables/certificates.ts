/** Tables of watched certificates and of locations without an agent. See `tables.ts` for the units. */

/** What each location of a check last saw of its certificate. */
export interface CheckCertificatesTable {
  check_id: string;
  account_id: string;
  location: string;
  host: string;
  port: number;
  valid_from: number;
  valid_to: number;
  issuer: string;
  subject: string;
  fingerprint256: string;
  problem: string | null;
  measured_at: number;
  /** When the days that remain are to be counted anew. */
  due_at: number;
}

/** Locations of which people were told that they have no agent, and not yet that they have one again. */
export interface LocationNoticesTable {
  account_id: string;
  location: string;
  unserved_since: number;
  /** The same in the notice and in the recovery. */
  incident_key: string;
  /** Ids of the channels that were told. */
  channels_json: string;
  sent_at: number;
}

export interface CertificateTables {
  check_certificates: CheckCertificatesTable;
  location_notices: LocationNoticesTable;
}
