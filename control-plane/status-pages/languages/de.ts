import { html } from '../../core/html.ts';
import type { Texts } from './en.ts';
import { pluralsOf } from './plural.ts';

const plural = pluralsOf('de');

export const de: Texts = {
  name: 'Deutsch',
  states: {
    major_outage: 'Schwerer Ausfall',
    partial_outage: 'Teilausfall',
    degraded_performance: 'Eingeschränkte Leistung',
    under_maintenance: 'In Wartung',
    operational: 'Betriebsbereit',
  },
  allOperational: 'Alle Systeme betriebsbereit',
  noProblemKnown: 'Keine Störung bekannt',
  notMeasured: 'Wird derzeit nicht gemessen',
  statuses: {
    INVESTIGATING: 'Wird untersucht',
    IDENTIFIED: 'Ursache gefunden',
    MONITORING: 'Wird beobachtet',
    RESOLVED: 'Behoben',
    scheduled: 'Geplant',
    in_progress: 'Läuft',
    verifying: 'Wird geprüft',
    completed: 'Abgeschlossen',
    cancelled: 'Abgesagt',
  },
  severities: {
    CRITICAL: 'Kritisch',
    MAJOR: 'Schwer',
    MEDIUM: 'Mittel',
    MINOR: 'Gering',
  },
  inSentence: (words) => words,
  lessThanAMinute: 'weniger als eine Minute',
  frame: {
    skip: 'Zum Inhalt springen',
    pages: 'Seiten',
    status: 'Status',
    history: 'Verlauf',
    subscribe: 'Abonnieren',
    languages: 'Sprachen',
    timesIn: (zone) => `Alle Zeiten in ${zone}.`,
    changeZone: 'Ändern',
    zoneTitle: 'Zeitzone',
    zoneLabel: 'Zeiten anzeigen in',
    showZone: 'Anzeigen',
    signOut: 'Abmelden',
    calendar: 'Kalender',
  },
  page: {
    description: (headline, page) => `${headline}. Aktueller Status und Verlauf von ${page}.`,
    find: 'Dienst suchen',
    currentStatus: 'Aktueller Status',
    asOf: (time) => html`Stand: ${time}`,
    affected: (some, all) => `${some} von ${all} Diensten`,
    openIncidents: 'Aktuelle Störungen',
    maintenance: 'Wartung',
    pastIncidents: 'Frühere Störungen',
    history: 'Alle Störungen',
    noPastIncidents: 'In den letzten 14 Tagen wurde keine Störung behoben.',
  },
  uptime: {
    noData: 'noch keine Daten',
    share: (percent) => `${percent} verfügbar`,
    shareSince: (percent, day) => `${percent} verfügbar seit ${day}`,
    today: 'Heute',
    noIncidents: (day) => `${day}: keine Störungen`,
    notWatchedBefore: (day) => `Vor dem ${day} nicht überwacht`,
    lastDays: (count) => `letzte ${count} Tage`,
    since: (day) => `seit ${day}`,
    summary: (service, period, percent, incidents) =>
      `${service}, ${period}: Verfügbarkeit ${percent}, ${incidents}`,
    help: 'So wird die Verfügbarkeit berechnet',
    definition:
      'Sie ist der Anteil der letzten 90 Tage ohne Ausfall. Ein schwerer Ausfall zählt mit seiner ganzen Dauer, ein Teilausfall mit 30 % davon; bei eingeschränkter Leistung gilt ein Dienst als verfügbar. Wartung und die Zeit vor Beginn der Überwachung zählen nicht mit.',
    none: 'keine Störungen',
    onDays: (count) =>
      plural(count, { one: 'Störungen an 1 Tag', other: `Störungen an ${count} Tagen` }),
  },
  incident: {
    of: (state, services) => `${state}: ${services}`,
    soFar: (since, duration) => html`seit ${since}, bisher ${duration}`,
    earlierUpdates: (count) => `Frühere Meldungen (${count})`,
    allUpdates: 'Alle Meldungen',
    updates: 'Meldungen',
    currentStatus: 'Aktueller Status',
    titled: (status, name) => `${status}: ${name}`,
    concerns: (services) => `Betroffen: ${services}.`,
  },
  history: {
    inMonth: (month) => `Störungen im ${month}`,
    description: (page, month) => `Störungen von ${page} im ${month}.`,
    none: 'Keine.',
    incidents: 'Störungen',
    months: 'Monate',
  },
  maintenance: {
    of: (page) => `Wartung von ${page}`,
    concerns: (services) => `betrifft ${services}`,
    willConcern: (services) => `betrifft ${services}`,
    again: (ranges) => html`Erneut ${ranges}`,
  },
  forms: {
    updatesByMail: 'Meldungen per E-Mail erhalten',
    aboutMails:
      'Eine E-Mail zu jeder Meldung über eine Störung. Sie können sie mit einem Klick abbestellen.',
    address: 'E-Mail-Adresse',
    onlySome: 'Nur einzelne Dienste',
    allOtherwise: 'Ohne Auswahl erhalten Sie Meldungen zu allen.',
    servicesGone:
      'Die gewählten Dienste sind nicht mehr auf dieser Seite. Bitte wählen Sie erneut.',
    subscribe: 'Abonnieren',
    invalidAddress: 'Das ist keine E-Mail-Adresse. Bitte prüfen Sie die Eingabe.',
    tryLater: 'Bitte versuchen Sie es später erneut',
    tooManyRequests: 'In der letzten Stunde gab es zu viele Anfragen.',
    checkMail: 'Sehen Sie in Ihr Postfach',
    mailSent:
      'Wir haben Ihnen eine E-Mail mit einem Link geschickt. Öffnen Sie ihn innerhalb eines Tages, um zu bestätigen, dass Sie E-Mails über diese Seite erhalten möchten.',
    toPage: 'Zur Statusseite',
    confirmTitle: 'Abonnement bestätigen',
    willGetUpdates: 'Sie erhalten jede Meldung über eine Störung.',
    confirm: 'Bestätigen',
    unsubscribe: 'Abbestellen',
    willGetNoUpdates: 'Sie erhalten keine Meldungen mehr von dieser Statusseite.',
    linkOutdated: 'Dieser Link gilt nicht mehr',
    linkReplaced: 'Er ist zu alt oder wurde durch einen neueren ersetzt.',
    subscribed: 'Sie haben die Meldungen abonniert',
    unsubscribed: 'Sie haben die Meldungen abbestellt',
    noMoreUpdates: 'Sie erhalten keine Meldungen mehr.',
    privatePage: 'Diese Seite ist privat',
    enterPassword: 'Geben Sie das Passwort ein, um fortzufahren.',
    password: 'Passwort',
    continue: 'Weiter',
    wrongPassword: 'Das Passwort ist falsch.',
    tooManyAttempts: 'Zu viele Versuche. Bitte warten Sie einige Minuten.',
  },
  webhook: {
    updates: 'Meldungen per Webhook erhalten',
    howTo:
      'Eine Anfrage an Ihre URL zu jeder Meldung über eine Störung, signiert nach Standard Webhooks.',
    url: 'URL (https)',
    invalidUrl:
      'An diese URL kann keine Anfrage gesendet werden. Sie muss mit https:// beginnen. Bitte prüfen Sie die Eingabe.',
    checkRequests: 'Sehen Sie nach, was Ihre URL empfangen hat',
    requestSent:
      'Wir haben eine Anfrage mit einem Link an Ihre URL gesendet. Öffnen Sie ihn innerhalb eines Tages, oder senden Sie ein POST dorthin, um das Abonnement zu bestätigen.',
    full: 'Diese Seite nimmt keine weiteren Webhooks an.',
    secret: 'Die Anfragen sind mit diesem Geheimnis signiert. Es wird nur jetzt angezeigt:',
  },
  slack: {
    updates: 'Meldungen in Slack erhalten',
    howTo:
      'Senden Sie diese Zeile in dem Kanal, der jede Meldung über eine Störung erhalten soll. Slack braucht dafür die App RSS.',
  },
  errors: {
    nothingHere: 'Hier gibt es nichts',
    noSuchPage: 'Keine Statusseite hat diese Adresse.',
    seeStatus: 'Zum aktuellen Status',
    tryInAMinute: 'Bitte versuchen Sie es in einer Minute erneut',
    tooManyFromAddress: 'Von Ihrer Adresse kamen zu viele Anfragen.',
    notAllowed: 'Das ist hier nicht möglich',
    unreadable: 'Die Eingabe war nicht lesbar',
  },
  mail: {
    affected: (services) => `Betroffen: ${services}`,
    readMore: 'Mehr dazu',
    reason: (page) =>
      `Sie erhalten diese E-Mail, weil Sie die Meldungen von ${page} abonniert haben.`,
    unsubscribe: 'Abbestellen',
    confirmTitle: 'Abonnement bestätigen',
    asked: (page) =>
      `Jemand, hoffentlich Sie, möchte an diese Adresse E-Mails über Störungen von ${page} erhalten.`,
    onlyAbout: (services) => `Nur zu: ${services}`,
    confirm: 'Abonnement bestätigen',
    linkWorks:
      'Der Link gilt 24 Stunden. Wenn Sie das nicht wollten, müssen Sie nichts tun: Sie erhalten keine weiteren E-Mails.',
    changeLinkWorks:
      'Der Link gilt 24 Stunden. Wenn Sie das nicht wollten, müssen Sie nichts tun: Ihr Abonnement bleibt, wie es ist.',
  },
};
