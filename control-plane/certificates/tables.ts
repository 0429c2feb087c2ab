/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
declare module '../db/tables.ts' {
  interface Database {
    /** The newest certificate that each location of a check has seen. */
    check_certificates: {
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
      /** When the remaining days must be counted again. */
      due_at: number;
    };
  }
}
