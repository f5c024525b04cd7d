/** Why nothing answers at an address, and what to do about it. */
import { StudioError } from '../../common/errors.ts';
import type { ServerAddress, Transport } from '../../protocol/transport.ts';

type Place = Pick<ServerAddress, 'url' | 'ca'>;
/** What is wrong, and the hint. */
type Explanation = readonly [string, string];

const NETWORK = 'See whether this machine is in its network (VPN), and whether a firewall lets it through.';

/** `error`: what a request was given instead of an answer. Always `unavailable`: it may answer later. */
export function unreachableError(place: Place, error: unknown): StudioError {
  const { code, text } = causeOf(error);
  const [why, hint] = ofName(code, place) ??
    ofCertificate(code, place, error) ??
    ofTls(code, text, place) ??
    ofConnection(code, place) ?? [
      `The rollout server at ${place.url} does not answer${text === '' ? '' : `: ${text}`}.`,
      'See whether it runs, and what is between it and this machine.',
    ];
  return new StudioError('unavailable', why, { hint, cause: error });
}

/** As `transport`, but it tells why nothing answers at the address. */
export function tellingWhy(transport: Transport, place: Place): Transport {
  return {
    request: (request) =>
      transport.request(request).catch((error: unknown) => {
        throw StudioError.is(error, 'unavailable') ? unreachableError(place, error) : error;
      }),
  };
}

/** Whether the certificate is of an authority that is not known. */
export function isUntrusted(error: unknown): boolean {
  return UNTRUSTED.includes(causeOf(error).code);
}

const UNTRUSTED: readonly string[] = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
];

function ofName(code: string, { url }: Place): Explanation | undefined {
  const { hostname } = new URL(url);
  if (code === 'ENOTFOUND')
    return [
      `There is no machine called ${hostname}.`,
      'See whether the address is right, and whether this machine is in the network (VPN) that knows it.',
    ];
  if (code === 'EAI_AGAIN')
    return [
      `The name ${hostname} cannot be looked up: no name server answers.`,
      'See whether this machine is in a network, and in the one (VPN) that knows the name.',
    ];
  return undefined;
}

function ofConnection(code: string, { url }: Place): Explanation | undefined {
  const { host, protocol } = new URL(url);
  switch (code) {
    case 'ECONNREFUSED':
      return [
        `Nothing listens at ${host}: the connection was refused.`,
        'See whether the server runs, and whether the port is right.',
      ];
    case TIMED_OUT:
    case 'ETIMEDOUT':
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
      return [`${host} does not answer: the request timed out.`, `See whether the server runs. ${NETWORK}`];
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EHOSTDOWN':
    case 'ENETDOWN':
      return [`${host} is not reached from here.`, NETWORK];
    case 'EACCES':
    case 'EPERM':
      return [
        `This machine lets no connection out to ${host}.`,
        'See its firewall, and what else (a sandbox, a container) keeps programs from the network.',
      ];
    case 'ECONNRESET':
    case 'EPIPE':
    case 'UND_ERR_SOCKET':
      return [
        `${host} cut the connection instead of answering.`,
        protocol === 'http:'
          ? 'See whether the server runs, the port, and whether the address begins with https.'
          : 'See whether the server runs, the port, and whether the gateway or proxy there lets this machine in.',
      ];
    default:
      return code === NO_HTTP || /^HPE_/.test(code)
        ? [`What listens at ${host} does not speak HTTP.`, 'See the port.']
        : undefined;
  }
}

function ofCertificate(code: string, { url, ca }: Place, error: unknown): Explanation | undefined {
  const { host } = new URL(url);
  if (UNTRUSTED.includes(code)) {
    return [
      `The certificate of ${host} is of an authority that is not trusted here.`,
      ca === undefined
        ? 'Add the target again, with the CA file of that authority (--ca).'
        : 'The CA file of the target is of another authority: add the target again with the right one.',
    ];
  }
  switch (code) {
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return [
        `The certificate of ${host} is not valid ${code === 'CERT_HAS_EXPIRED' ? 'any more' : 'yet'}.`,
        'Whoever runs the server has to renew it; or the clock of this machine is wrong.',
      ];
    case 'ERR_TLS_CERT_ALTNAME_INVALID': {
      const names = namesOf(error);
      return [
        `The certificate at ${host} is for another name${names === undefined ? '' : ` (${names})`}.`,
        'Use the name that is in the certificate.',
      ];
    }
    default:
      return /^(?:CERT|CRL)_|^(?:INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH|PATH_LENGTH_EXCEEDED)$/.test(code)
        ? [
            `The certificate of ${host} is not accepted (${code}).`,
            'Whoever runs the server has to give it a right one.',
          ]
        : undefined;
  }
}

function ofTls(code: string, text: string, { url }: Place): Explanation | undefined {
  const { host } = new URL(url);
  switch (code) {
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
    case 'ERR_SSL_HTTP_REQUEST':
      return [`${host} does not speak TLS.`, 'See the port: https is perhaps at another one.'];
    default:
      return /^ERR_(?:SSL|TLS)_/.test(code)
        ? [
            `TLS with ${host} failed (${code}): ${text}.`,
            'It may want another version of TLS or a certificate of the client, which a target does not give: ' +
              'ask whoever runs it.',
          ]
        : undefined;
  }
}

/** The certificate that came with the error tells whom it is for. */
function namesOf(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const cert: unknown = 'cert' in at ? at.cert : undefined;
    if (
      typeof cert === 'object' &&
      cert !== null &&
      'subjectaltname' in cert &&
      typeof cert.subjectaltname === 'string'
    )
      return cert.subjectaltname;
  }
  return undefined;
}

const TIMED_OUT = 'TIMED_OUT';
const NO_HTTP = 'NO_HTTP';
/** Errors that have no code, by their names: a request's own limit, and what `fetch` cannot read. */
const NAMED: Readonly<Record<string, string>> = { TimeoutError: TIMED_OUT, HTTPParserError: NO_HTTP };

/** The first code of the chain of causes that is not ours, and what the innermost cause says. */
function causeOf(error: unknown): { readonly code: string; readonly text: string } {
  let text = '';
  for (let at = error; at instanceof Error; at = at.cause) {
    if (StudioError.is(at)) continue;
    text = at.message;
    const named = NAMED[at.name];
    if (named !== undefined) return { code: named, text };
    if ('code' in at && typeof at.code === 'string') return { code: at.code, text };
    if (at instanceof AggregateError && at.errors.length > 0) return causeOf(at.errors[0]);
  }
  return { code: '', text };
}
