/// Returns `true` if two sequences of bytes are equal, in a time that depends only on their lengths.
///
/// Use the function for secrets, codes, hashes of secrets and all other data that an attacker could guess from the time
/// of a comparison.
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

/// Compares buffers of equal length. The function is not generic: a generic parameter that another module fills costs a
/// look-up for every byte.
private func haveEqualBytes(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
    var difference: UInt8 = 0
    for index in left.indices { difference |= left[index] ^ right[index] }
    return difference == 0
}
