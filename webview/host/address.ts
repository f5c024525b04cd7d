/** Converts between a place and the fragment of an address: `#token=…&rollout=r…&seq=12&tab=call`. */
export { placeFromParams, placeToParams } from '../../src/protocol/viewLink.ts';
