/** Why nothing answers at an address, and what to do about it. */
import { StudioError } from '../../common/errors.ts';
import type { ServerAddress } from '../../protocol/transport.ts';

const STATUS = 'rollout target status shows what is wrong.';

/** `error`: what a request was given instead of an answer. Always `unavailable`: it may answer later. */
export function silence({ url, ca }: Pick<ServerAddress, 'url' | 'ca'>, error: unknown): StudioError {
  const { host } = new URL(url);
  const [why, mend] = known(codeOf(error), host, ca !== undefined) ?? [`The rollout server at ${url} does not answer.`, STATUS];
  return new StudioError('unavailable', why, { mend, cause: error });
}

/** Whether the certificate is of an authority that is not known. */
export function isUntrusted(error: unknown): boolean {
  return UNTRUSTED.includes(codeOf(error));
}

const UNTRUSTED: readonly string[] = ['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'];

function known(code: string, host: string, ca: boolean): readonly [string, string] | undefined {
  if (UNTRUSTED.includes(code)) {
    return [`The certificate of ${host} is of an authority that is not trusted here.`, ca ? 'The CA file of the target is of another authority: add the target again with the right one.' : 'Add the target again, with the CA file of that authority.'];
  }
  switch (code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return [`There is no machine called ${host}.`, 'See whether the address is right, and whether this machine is in the network (VPN) that knows it.'];
    case 'ECONNREFUSED':
      return [`Nothing listens at ${host}.`, 'See whether the server runs, and whether the port is right.'];
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'UND_ERR_CONNECT_TIMEOUT':
      return [`${host} is not reached from here.`, 'See whether this machine is in its network (VPN), and whether a firewall lets it through.'];
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return [`The certificate of ${host} is not valid ${code === 'CERT_HAS_EXPIRED' ? 'any more' : 'yet'}.`, 'Whoever runs the server has to renew it; or the clock of this machine is wrong.'];
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return [`The certificate at ${host} is for another name.`, 'Use the name that is in the certificate.'];
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
      return [`${host} does not speak TLS.`, 'See the port: https is perhaps at another one.'];
    default:
      return undefined;
  }
}

/** The first code of the chain of causes that is not ours. */
function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (!StudioError.is(at) && 'code' in at && typeof at.code === 'string') return at.code;
    if (at instanceof AggregateError && at.errors.length > 0) return codeOf(at.errors[0]);
  }
  return '';
}
