/// Whether two sequences of bytes are equal, in a time that depends on their lengths alone.
///
/// For secrets, codes, hashes of secrets and everything else that a guesser could learn from the time of a comparison.
public func constantTimeEqual(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    var difference: UInt8 = 0
    for (a, b) in zip(left, right) { difference |= a ^ b }
    return difference == 0
}
