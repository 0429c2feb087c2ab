/**
 * How to start an agent of a location, as lines of a shell. The key is read from a file: in a line it would
 * stand in the history of the shell, and in the list of processes.
 */

/**
 * `image` and `chart` are null where the operator has named none: then they are the files of the release.
 */
export interface AgentFacts {
  url: string;
  slug: string;
  version: string;
  image: string | null;
  chart: string | null;
}

export function isOfThisMachine(url: string) {
  return /^(?:localhost|.*\.localhost|127\.[\d.]+|\[::1\])$/.test(new URL(url).hostname);
}

/** The line that waits for the key: to be run alone, as it takes the line that follows. */
export function keyLine({ slug }: AgentFacts) {
  return `(umask 077; head -n 1 > ${slug}.key)`;
}

const install = 'npm install -g ./monitor-agent-*.tgz ./monitor-node-*.tgz';

export const ways: [name: string, word: string, lines: (facts: AgentFacts) => string][] = [
  [
    'docker',
    'Docker',
    ({ url, slug, version, image }) =>
      `${image === null ? `docker load --input images/monitor-agent-uptime-${version}.tar\n` : ''}\
docker run --detach --restart unless-stopped --stop-timeout 30 --name monitor-agent-${slug} \\
  --user "$(id -u):0" --volume "$PWD/${slug}.key:/run/location-key:ro" \\
  --env API_KEY_FILE=/run/location-key --env CONTROL_PLANE_URL=${url} \\
  ${isOfThisMachine(url) ? '--network host ' : ''}--volume monitor-agent-${slug}:/var/lib/monitor-agent \\
  ${image ?? `monitor-agent:${version}-uptime`}`,
  ],
  [
    'helm',
    'Kubernetes',
    ({ url, slug, version, image, chart }) => {
      const [, repository, tag] = /^(.+?)(?::([^/]+))?$/.exec(image ?? '') ?? [];
      const name = slug.toLowerCase();
      return `kubectl create namespace monitor
kubectl --namespace monitor create secret generic ${name}-key --from-file=apiKey=${slug}.key
helm install ${name} ${chart ?? `charts/monitor-agent-${version}.tgz`} --namespace monitor \\
  --set apiKeySecret.create=false --set apiKeySecret.name=${name}-key \\
${repository === undefined ? '' : `  --set image.repository=${repository}${tag === undefined ? '' : ` --set image.tag=${tag}`} \\\n`}\
  --set controlPlaneUrl=${url} --set location=${slug}`;
    },
  ],
  [
    'node',
    'Node',
    ({ url, slug }) =>
      `${install}
API_KEY_FILE=${slug}.key CONTROL_PLANE_URL=${url} monitor-agent start`,
  ],
  [
    'systemd',
    'systemd',
    ({ url, slug }) =>
      `sudo ${install}
sudo install -D --mode 0400 ${slug}.key /etc/monitor-agent/api-key
sudo tee /etc/systemd/system/monitor-agent.service > /dev/null <<END
[Unit]
Description=Monitoring agent of ${slug}
Wants=network-online.target
After=network-online.target
[Service]
ExecStart=$(command -v monitor-agent) start
LoadCredential=api-key:/etc/monitor-agent/api-key
Environment=API_KEY_FILE=%d/api-key AGENT_DATA_DIR=%S/monitor-agent HOME=/tmp
Environment=CONTROL_PLANE_URL=${url}
DynamicUser=yes
StateDirectory=monitor-agent
KillMode=mixed
Restart=always
RestartPreventExitStatus=2
[Install]
WantedBy=multi-user.target
END
sudo systemctl enable --now monitor-agent`,
  ],
];
