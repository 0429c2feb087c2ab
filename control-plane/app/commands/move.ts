import { lazy } from '@monitor/shared/named-commands.ts';
import type { Command } from 'commander';

const help = `
Stop \`serve\` first. The file is only read. The environment is that of the
replicas: ENCRYPTION_KEY, PUBLIC_URL and where they keep files
(ARTIFACTS_S3_BUCKET, or ARTIFACTS_DIR with ARTIFACTS_SHARED=true). DATABASE_URL
instead of --to keeps a password out of the list of processes. Where the key was
a file, credentials are encrypted with ENCRYPTION_KEY on the way.

A run that did not end is begun again by the next one. Ids, keys and addresses
stay, so agents go on once PUBLIC_URL leads to the replicas.

Example: control-plane move --from old.db --to postgres://monitor@db/monitor
`;

/** `control-plane move`: copies an installation in a file to a PostgreSQL. */
export function registerMove(program: Command): void {
  program
    .command('move')
    .description('copy an SQLite database to PostgreSQL; stop `serve` first')
    .option('--to <url>', 'an empty PostgreSQL; default: DATABASE_URL')
    .option('--from <file>', 'another database than DATABASE_FILE')
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(lazy(async () => (await import('./move-database.ts')).move));
}
