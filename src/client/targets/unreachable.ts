/** Explains why a server is unreachable, and what to do about it. */
import { StudioError } from '../../common/errors.ts';
import type { ServerAddress, Transport } from '../../protocol/transport.ts';

type Place = Pick<ServerAddress, 'url' | 'ca'>;
/** The message and the hint. */
type Explanation = readonly [string, string];

const NETWORK = 'Check the network or VPN connection, and that no firewall blocks it.';

/** Converts the error of a failed request to a StudioError `unavailable`, because the server may respond later. */
export function unreachableError(place: Place, error: unknown): StudioError {
  // The proxy on the way has explained it.
  if (StudioError.is(error, 'unavailable') && error.details?.['proxy'] !== undefined) return error;
  const { code, text } = causeOf(error);
  const [message, hint] = explainDns(code, place) ??
    explainCertificate(code, place, error) ??
    explainTls(code, text, place) ??
    explainConnection(code, place) ?? [
      `The rollout server at ${place.url} does not respond${text === '' ? '' : `: ${text}`}.`,
      'Check that it is running and reachable from this machine.',
    ];
  return new StudioError('unavailable', message, { hint, cause: error });
}

/** Wraps a transport so that its errors explain why the server is unreachable. */
export function explainUnreachable(transport: Required<Transport>, place: Place): Transport {
  const explain = (error: unknown): never => {
    throw StudioError.is(error, 'unavailable') ? unreachableError(place, error) : error;
  };
  return {
    request: (request) => transport.request(request).catch(explain),
    stream: (request) => transport.stream(request).catch(explain),
  };
}

/** Returns whether the certificate is from an unknown CA. */
export function isUntrusted(error: unknown): boolean {
  return UNTRUSTED.includes(causeOf(error).code);
}

const UNTRUSTED: readonly string[] = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  // Another CA of the same name, such as that of another installation.
  'CERT_SIGNATURE_FAILURE',
];

function explainDns(code: string, { url }: Place): Explanation | undefined {
  const { hostname } = new URL(url);
  if (code === 'ENOTFOUND')
    return [`The host name ${hostname} was not found.`, 'Check the URL, and the network or VPN connection.'];
  if (code === 'EAI_AGAIN')
    return [
      `Cannot resolve the host name ${hostname}: no DNS server responded.`,
      'Check the network or VPN connection.',
    ];
  return undefined;
}

function explainConnection(code: string, { url }: Place): Explanation | undefined {
  const { host, protocol } = new URL(url);
  switch (code) {
    case 'ECONNREFUSED':
      return [`Connection to ${host} refused.`, 'Check that the server is running and the port is correct.'];
    case TIMED_OUT:
    case 'ETIMEDOUT':
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
      return [`${host} does not respond: the request timed out.`, `Check that the server is running. ${NETWORK}`];
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EHOSTDOWN':
    case 'ENETDOWN':
      return [`${host} is unreachable from this machine.`, NETWORK];
    case 'EACCES':
    case 'EPERM':
      return [
        `This machine blocked the connection to ${host}.`,
        'Check its firewall, and whether a sandbox or container restricts network access.',
      ];
    case 'ECONNRESET':
    case 'EPIPE':
    case 'UND_ERR_SOCKET':
      return [
        `${host} closed the connection without responding.`,
        protocol === 'http:'
          ? 'Check that the server is running, the port is correct, and the URL does not need https.'
          : 'Check that the server is running, the port is correct, and its gateway or proxy accepts this machine.',
      ];
    default:
      return code === NO_HTTP || /^HPE_/.test(code) ? [`${host} is not an HTTP server.`, 'Check the port.'] : undefined;
  }
}

function explainCertificate(code: string, { url, ca }: Place, error: unknown): Explanation | undefined {
  const { host } = new URL(url);
  if (UNTRUSTED.includes(code)) {
    return [
      `The certificate of ${host} is from a CA that is not trusted on this machine.`,
      ca === undefined
        ? 'Add the target again with the file of that CA (--ca).'
        : 'The CA file of the target does not match. Add the target again with the right CA file.',
    ];
  }
  switch (code) {
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return [
        `The certificate of ${host} ${code === 'CERT_HAS_EXPIRED' ? 'has expired' : 'is not valid yet'}.`,
        'Ask the operator of the server to renew it, and check the clock of this machine.',
      ];
    case 'ERR_TLS_CERT_ALTNAME_INVALID': {
      const names = namesOf(error);
      return [
        `The certificate of ${host} is for another name${names === undefined ? '' : ` (${names})`}.`,
        'Use the name in the certificate.',
      ];
    }
    default:
      return /^(?:CERT|CRL)_|^(?:INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH|PATH_LENGTH_EXCEEDED)$/.test(code)
        ? [`The certificate of ${host} was rejected (${code}).`, 'Ask the operator of the server to replace it.']
        : undefined;
  }
}

function explainTls(code: string, text: string, { url }: Place): Explanation | undefined {
  const { host } = new URL(url);
  switch (code) {
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
    case 'ERR_SSL_HTTP_REQUEST':
      return [`${host} does not support TLS.`, 'Check the port: https may use another one.'];
    default:
      return /^ERR_(?:SSL|TLS)_/.test(code)
        ? [
            `TLS connection to ${host} failed (${code}): ${text}.`,
            'The server may require another TLS version or a client certificate, which targets do not support. ' +
              'Ask its operator.',
          ]
        : undefined;
  }
}

/** Returns the names in the certificate that is attached to the error. */
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
/** Codes for errors that have only a name: request timeouts, and responses that `fetch` cannot parse. */
const CODES_BY_NAME: Readonly<Record<string, string>> = { TimeoutError: TIMED_OUT, HTTPParserError: NO_HTTP };

/** Returns the first error code in the chain of causes, and the message of that cause. */
function causeOf(error: unknown): { readonly code: string; readonly text: string } {
  let text = '';
  for (let at = error; at instanceof Error; at = at.cause) {
    if (StudioError.is(at)) continue;
    text = at.message;
    const code = CODES_BY_NAME[at.name];
    if (code !== undefined) return { code, text };
    if ('code' in at && typeof at.code === 'string') return { code: at.code, text };
    if (at instanceof AggregateError && at.errors.length > 0) return causeOf(at.errors[0]);
  }
  return { code: '', text };
}
