import type { Command } from 'commander';
import { processEnvironment, readConfig } from '../config.ts';
import { checkBrowser, checkScripts } from '../doctor/code.ts';
import { checkControlPlane } from '../doctor/control-plane.ts';
import type { Finding } from '../doctor/finding.ts';
import {
  checkDataDirectory,
  checkDescriptors,
  checkIcmp,
  checkVersions,
} from '../doctor/machine.ts';
import { checkRuntimes } from '../doctor/runtimes.ts';
import { exitCodes } from '../exit-codes.ts';
import { openNetwork, relaunch } from '../net/icmp-launcher.ts';
import { colorsFor, type Colors } from './output.ts';

function print(finding: Finding, colors: Colors): void {
  const mark = {
    ok: colors.green('ok  '),
    warn: colors.yellow('warn'),
    fail: colors.red('fail'),
  }[finding.verdict];
  console.log(`${mark}  ${finding.name.padEnd(16)}  ${finding.evidence}`);
  if (finding.fix !== null) console.log(`${' '.repeat(24)}-> ${finding.fix}`);
}

/** `monitor-agent doctor`: each thing an agent needs, with evidence and the fix. */
export function registerDoctor(program: Command): void {
  program
    .command('doctor')
    .description('find out why an agent would not work here, and what to do')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExit codes: 0 nothing failed (warnings allowed), 1 something failed, 2 settings unusable.\n',
    )
    .action(async (options: { json?: boolean }) => {
      const { config, warnings } = readConfig({ environment: processEnvironment });
      relaunch(processEnvironment);
      const network = openNetwork(processEnvironment, config.USE_OS_DNS_RESOLVER);
      const colors = colorsFor(process.stdout, processEnvironment['NO_COLOR']);
      const findings: Finding[] = [];
      const add = (finding: Finding): void => {
        findings.push(finding);
        if (options.json !== true) print(finding, colors);
      };
      add(checkVersions());
      for (const warning of warnings) {
        add({ name: 'settings', verdict: 'warn', evidence: warning, fix: 'correct or remove it' });
      }
      for (const finding of await checkControlPlane(config)) add(finding);
      add(checkDataDirectory(config));
      add(checkIcmp(network));
      add(checkDescriptors());
      for (const finding of checkRuntimes(config)) add(finding);
      add(await checkScripts(config));
      add(await checkBrowser(config));
      network.icmp?.close();
      const hasFailed = findings.some(({ verdict }) => verdict === 'fail');
      if (options.json === true) console.log(JSON.stringify({ ok: !hasFailed, findings }, null, 2));
      process.exitCode = hasFailed ? exitCodes.failed : exitCodes.ok;
    });
}
