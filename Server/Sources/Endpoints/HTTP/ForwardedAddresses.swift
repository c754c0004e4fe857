import _Primitives

/// Finds the caller behind the proxies that a server trusts, by `X-Forwarded-For` (founding decision, Proxies).
struct ForwardedAddresses: Sendable {
    let trustedProxies: [AddressBlock]

    /// Returns the caller's address: the peer's own address, unless the peer is a trusted proxy.
    ///
    /// The function reads the fields from their end. The last address that belongs to no trusted proxy is the caller's:
    /// a caller can invent everything before that address.
    func caller(of peer: String, by fields: @autoclosure () -> [String]) -> String {
        guard self.isTrusted(peer) else { return peer }
        var caller = peer
        // The loop reads an address only if the address behind it is a trusted proxy's.
        for field in fields().joined(separator: ",").splitBytes(at: ",").reversed() where !field.isEmpty {
            let address = String(decoding: field.utf8.filter { $0 != UInt8(ascii: " ") }, as: UTF8.self)
            guard AddressBlock(address) != nil else { break }
            caller = address
            guard self.isTrusted(address) else { break }
        }
        return caller
    }

    private func isTrusted(_ address: String) -> Bool { self.trustedProxies.contains { $0.contains(address) } }
}
