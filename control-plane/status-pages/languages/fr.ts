import { html } from '../../core/html.ts';
import type { Texts } from './en.ts';
import { pluralsOf } from './plural.ts';

const plural = pluralsOf('fr');

export const fr: Texts = {
  name: 'Français',
  states: {
    major_outage: 'Panne majeure',
    partial_outage: 'Panne partielle',
    degraded_performance: 'Performances dégradées',
    under_maintenance: 'En maintenance',
    operational: 'Opérationnel',
  },
  allOperational: 'Tous les systèmes sont opérationnels',
  statuses: {
    INVESTIGATING: 'Analyse en cours',
    IDENTIFIED: 'Cause identifiée',
    MONITORING: 'Sous surveillance',
    RESOLVED: 'Résolu',
    scheduled: 'Planifiée',
    in_progress: 'En cours',
    verifying: 'En vérification',
    completed: 'Terminée',
    cancelled: 'Annulée',
  },
  severities: {
    CRITICAL: 'Critique',
    MAJOR: 'Majeur',
    MEDIUM: 'Modéré',
    MINOR: 'Mineur',
  },
  inSentence: (words) => words.toLowerCase(),
  lessThanAMinute: 'moins d’une minute',
  frame: {
    skip: 'Aller au contenu',
    pages: 'Pages',
    status: 'État',
    history: 'Historique',
    subscribe: 'S’abonner',
    languages: 'Langues',
    timesIn: (zone) => `Toutes les heures sont en ${zone}.`,
    changeZone: 'Modifier',
    zoneTitle: 'Fuseau horaire',
    zoneLabel: 'Afficher les heures en',
    showZone: 'Afficher',
    signOut: 'Se déconnecter',
    calendar: 'Calendrier',
  },
  page: {
    description: (headline, page) => `${headline}. État actuel et historique de ${page}.`,
    currentStatus: 'État actuel',
    asOf: (time) => html`Au ${time}`,
    affected: (some, all) => `${some} services sur ${all}`,
    openIncidents: 'Incidents en cours',
    maintenance: 'Maintenance',
    pastIncidents: 'Incidents passés',
    history: 'Historique des incidents',
    noPastIncidents: 'Aucun incident n’a été résolu ces 14 derniers jours.',
  },
  uptime: {
    noData: 'pas encore de données',
    share: (percent) => `Disponibilité : ${percent}`,
    shareSince: (percent, day) => `Disponibilité : ${percent} depuis le ${day}`,
    today: 'Aujourd’hui',
    noIncidents: (day) => `${day} : aucun incident`,
    notWatchedBefore: (day) => `Non surveillé avant le ${day}`,
    lastDays: (count) => `${count} derniers jours`,
    since: (day) => `depuis le ${day}`,
    summary: (service, period, percent, incidents) =>
      `${service}, ${period} : disponibilité ${percent}, ${incidents}`,
    help: 'Comment la disponibilité est calculée',
    definition:
      'C’est la part des 90 derniers jours sans panne. Une panne majeure compte pour toute sa durée, une panne partielle pour 30 % ; un service aux performances dégradées reste disponible. Les maintenances et la période antérieure à la surveillance ne sont pas prises en compte.',
    none: 'aucun incident',
    onDays: (count) =>
      plural(count, { one: `incidents sur ${count} jour`, other: `incidents sur ${count} jours` }),
  },
  incident: {
    of: (state, services) => `${state} : ${services}`,
    soFar: (since, duration) => html`depuis le ${since}, soit ${duration} à ce stade`,
    earlierUpdates: (count) => `Messages précédents (${count})`,
    allUpdates: 'Tous les messages',
    updates: 'Messages',
    currentStatus: 'État actuel',
    titled: (status, name) => `${status} : ${name}`,
    concerns: (services) => `Services concernés : ${services}.`,
  },
  history: {
    inMonth: (month) => `Incidents – ${month}`,
    description: (page, month) => `Incidents de ${page}, ${month}.`,
    none: 'Aucun.',
    incidents: 'Incidents',
    months: 'Mois',
  },
  maintenance: {
    of: (page) => `Maintenance de ${page}`,
    concerns: (services) => `concerne ${services}`,
    willConcern: (services) => `concernera ${services}`,
    again: (ranges) => html`À nouveau : ${ranges}`,
  },
  forms: {
    updatesByMail: 'Recevoir les messages par e-mail',
    aboutMails:
      'Un e-mail à chaque message sur un incident. Vous pouvez vous désabonner en un clic.',
    address: 'Adresse e-mail',
    onlySome: 'Certains services seulement',
    allOtherwise: 'Sans choix, vous recevez les messages sur tous les services.',
    servicesGone:
      'Les services choisis ne figurent plus sur cette page. Veuillez choisir à nouveau.',
    subscribe: 'S’abonner',
    invalidAddress: 'Cette adresse e-mail n’est pas valide. Veuillez la vérifier.',
    tryLater: 'Veuillez réessayer plus tard',
    tooManyRequests: 'Il y a eu trop de demandes au cours de la dernière heure.',
    checkMail: 'Consultez votre messagerie',
    mailSent:
      'Nous vous avons envoyé un e-mail avec un lien. Ouvrez-le dans les 24 heures pour confirmer que vous souhaitez recevoir les e-mails de cette page.',
    toPage: 'Retour à la page d’état',
    confirmTitle: 'Confirmez votre abonnement',
    willGetUpdates: 'Vous recevrez chaque message sur un incident.',
    confirm: 'Confirmer',
    unsubscribe: 'Se désabonner',
    willGetNoUpdates: 'Vous ne recevrez plus de messages de cette page d’état.',
    linkOutdated: 'Ce lien n’est plus valable',
    linkReplaced: 'Il est trop ancien, ou un plus récent l’a remplacé.',
    subscribed: 'Vous êtes abonné',
    unsubscribed: 'Vous êtes désabonné',
    noMoreUpdates: 'Vous ne recevrez plus de messages.',
    privatePage: 'Cette page est privée',
    enterPassword: 'Saisissez son mot de passe pour continuer.',
    password: 'Mot de passe',
    continue: 'Continuer',
    wrongPassword: 'Ce mot de passe est incorrect.',
    tooManyAttempts: 'Trop de tentatives. Veuillez patienter quelques minutes.',
  },
  webhook: {
    updates: 'Recevoir les messages par webhook',
    howTo:
      'Une requête vers votre URL à chaque message sur un incident, signée selon Standard Webhooks.',
    url: 'URL (https)',
    invalidUrl:
      'Aucune requête ne peut être envoyée à cette URL. Elle doit commencer par https://. Veuillez la vérifier.',
    checkRequests: 'Consultez ce que votre URL a reçu',
    requestSent:
      'Nous avons envoyé à votre URL une requête avec un lien. Ouvrez-le dans les 24 heures, ou envoyez-y une requête POST, pour confirmer votre abonnement.',
    full: 'Cette page n’accepte plus de webhooks.',
    secret: 'Les requêtes sont signées avec ce secret. Il n’est affiché que maintenant :',
  },
  slack: {
    updates: 'Recevoir les messages dans Slack',
    howTo:
      'Envoyez cette ligne dans le canal qui doit recevoir chaque message sur un incident. L’application RSS de Slack est nécessaire.',
  },
  errors: {
    nothingHere: 'Il n’y a rien ici',
    noSuchPage: 'Aucune page d’état n’a cette adresse.',
    seeStatus: 'Voir l’état actuel',
    tryInAMinute: 'Veuillez réessayer dans une minute',
    tooManyFromAddress: 'Trop de demandes proviennent de votre adresse.',
    notAllowed: 'Cette action n’est pas possible ici',
    unreadable: 'Votre saisie n’a pas pu être lue',
  },
  mail: {
    affected: (services) => `Services concernés : ${services}`,
    readMore: 'En savoir plus',
    reason: (page) => `Vous recevez cet e-mail car vous êtes abonné à ${page}.`,
    unsubscribe: 'Se désabonner',
    confirmTitle: 'Confirmez votre abonnement',
    asked: (page) =>
      `Quelqu’un, vous sans doute, a demandé à recevoir à cette adresse les e-mails sur les incidents de ${page}.`,
    onlyAbout: (services) => `Uniquement pour : ${services}`,
    confirm: 'Confirmer l’abonnement',
    linkWorks:
      'Le lien est valable 24 heures. Si vous n’êtes pas à l’origine de cette demande, ne faites rien : vous ne recevrez pas d’autre e-mail.',
    changeLinkWorks:
      'Le lien est valable 24 heures. Si vous n’êtes pas à l’origine de cette demande, ne faites rien : votre abonnement reste inchangé.',
  },
};
