/** Known vulnerabilities of what is installed, where the registry answers such questions. */
import { execFile } from 'node:child_process';
import { StepFailure, type Finding, type ReleaseContext } from './step.ts';

interface Audit {
  metadata?: { vulnerabilities?: Record<string, number> };
  vulnerabilities?: Record<string, { severity: string; isDirect: boolean }>;
  error?: { summary?: string };
  message?: string;
}

/** Npm ends with 1 when it found something, and when it could not ask. */
function audit(folder: string): Promise<Audit> {
  return new Promise((resolve) => {
    const words = ['audit', '--json', '--omit=dev'];
    execFile('npm', words, { cwd: folder, maxBuffer: 1 << 26 }, (error, stdout) => {
      try {
        resolve(JSON.parse(stdout) as Audit);
      } catch {
        resolve({ message: error?.message ?? 'npm audit printed nothing' });
      }
    });
  });
}

export async function findVulnerabilities({ checkout }: ReleaseContext): Promise<Finding> {
  const { vulnerabilities, metadata, error, message } = await audit(checkout);
  if (vulnerabilities === undefined) {
    const why = [error?.summary, message].find(Boolean) ?? 'without a reason';
    return {
      summary: 'known vulnerabilities were not looked for',
      notChecked: `the registry does not answer (${why.split('\n')[0]})`,
    };
  }
  const found = Object.entries(vulnerabilities);
  const grave = found.filter(([, { severity }]) => severity === 'high' || severity === 'critical');
  if (grave.length > 0) {
    throw new StepFailure(
      `known vulnerabilities in ${grave.map(([name, { severity }]) => `${name} (${severity})`).join(', ')}`,
      'run `npm audit` for what they are, and take versions without them',
    );
  }
  return {
    summary: `${found.length} packages with known vulnerabilities, none of them grave`,
    figures: metadata?.vulnerabilities,
  };
}
