/// Whether two sequences of bytes are equal, in a time that depends on their lengths alone.
///
/// For secrets, codes, hashes of secrets and everything else that a guesser could learn from the time of a comparison.
public func constantTimeEqual(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    let isEqual = left.withContiguousStorageIfAvailable { left in
        right.withContiguousStorageIfAvailable { right in haveEqualBytes(left, right) }
    }
    if case .some(.some(let isEqual)) = isEqual { return isEqual }
    var difference: UInt8 = 0
    for (a, b) in zip(left, right) { difference |= a ^ b }
    return difference == 0
}

/// Of buffers of one length. Not generic: what another module calls by a generic parameter costs a look-up a byte.
private func haveEqualBytes(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
    var difference: UInt8 = 0
    for index in left.indices { difference |= left[index] ^ right[index] }
    return difference == 0
}
