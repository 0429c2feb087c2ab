/** The modules that scrape configurations of the field take for granted. */
export const commonModules = {
  modules: {
    http_2xx: { prober: 'http' },
    http_post_2xx: { prober: 'http', http: { method: 'POST' } },
    tcp_connect: { prober: 'tcp' },
    tls_connect: { prober: 'tcp', tcp: { tls: true } },
    ssh_banner: {
      prober: 'tcp',
      tcp: {
        query_response: [{ expect: '^SSH-2.0-' }, { send: 'SSH-2.0-blackbox-ssh-check' }],
      },
    },
    pop3s_banner: {
      prober: 'tcp',
      tcp: { query_response: [{ expect: '^+OK' }], tls: true },
    },
    smtp_starttls: {
      prober: 'tcp',
      tcp: {
        query_response: [
          { expect: '^220 ([^ ]+) ESMTP (.+)$' },
          { send: 'EHLO prober\r' },
          { expect: '^250-STARTTLS' },
          { send: 'STARTTLS\r' },
          { expect: '^220' },
          { starttls: true },
          { send: 'EHLO prober\r' },
          { expect: '^250-AUTH' },
          { send: 'QUIT\r' },
        ],
      },
    },
    irc_banner: {
      prober: 'tcp',
      tcp: {
        query_response: [
          { send: 'NICK prober' },
          { send: 'USER prober prober prober :prober' },
          { expect: 'PING :([^ ]+)', send: 'PONG ${1}' },
          { expect: '^:[^ ]+ 001' },
        ],
      },
    },
    icmp: { prober: 'icmp' },
    dns_udp: {
      prober: 'dns',
      dns: { query_name: '.', query_type: 'NS', transport_protocol: 'udp' },
    },
    dns_tcp: {
      prober: 'dns',
      dns: { query_name: '.', query_type: 'NS', transport_protocol: 'tcp' },
    },
  },
};
