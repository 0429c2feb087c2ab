/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    /** What a client deploys as one. */
    projects: {
      id: string;
      account_id: string;
      /** The client's name of it, unique in the account. */
      logical_id: string;
      name: string;
      repo_url: string | null;
      created_at: number;
      updated_at: number | null;
    };
    /** What a project owns. */
    project_resources: {
      id: Generated<number>;
      account_id: string;
      project_id: string;
      type: string;
      /** The project's name of it, unique within its type. */
      logical_id: string;
      /** The id of a check, group, channel and so on. It may have been deleted since. */
      physical_id: string;
      /** Imported, and not in the files of the project yet: deployments that do not list it leave it alone. */
      is_uncommitted: number;
    };
    /** Deployments and deletions of projects. */
    deployments: {
      id: string;
      account_id: string;
      /** Of the project, which may not exist before or after. */
      logical_id: string;
      /** The process that does it. */
      replica_id: string;
      status: string;
      error_json: string | null;
      result_json: string | null;
      created_at: number;
      started_at: number | null;
      ended_at: number | null;
      cancel_requested_at: number | null;
    };
    /** Where the code of a deployment came from, as its client said. */
    project_commits: {
      id: Generated<number>;
      account_id: string;
      project_id: string;
      deployed_at: number;
      /** `Commit` of the contract. */
      commit_json: string;
    };
    import_plans: {
      id: string;
      account_id: string;
      project_id: string;
      /** Names of what is imported, without its settings: they are read when they are asked for. */
      resources_json: string;
      created_at: number;
      applied_at: number | null;
      committed_at: number | null;
    };
  }
}
