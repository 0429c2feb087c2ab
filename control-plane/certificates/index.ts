/** What other modules may use. */
export { certificatesOfChecks } from './count-certificate-days.ts';
export { moveCertificateDays } from './move-days.ts';
export { recordCertificate } from './record-certificate.ts';
export { watchCertificates } from './watch-certificates.ts';
