import _Primitives

/// Who stands behind the proxies that a server trusts, by `X-Forwarded-For` (founding decision, Proxies).
struct ForwardedAddresses: Sendable {
    let trustedProxies: [AddressBlock]

    /// The caller's address: the peer's own, unless that is a proxy's. Fields are read from their end: the last address
    /// that no trusted proxy has is the caller's, as everything before it can be invented.
    func caller(of peer: String, by fields: @autoclosure () -> [String]) -> String {
        guard self.isTrusted(peer) else { return peer }
        var caller = peer
        // Each is read only as far as the one behind it is a proxy's.
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
