import Crypto
import Foundation
import HTTPTypes
public import Hummingbird
public import NIOCore
public import OAuthProvider

/// What a request carries on its way through the server.
public struct ServerContext: RequestContext, RemoteAddressRequestContext {
    /// What the HTTP library keeps of a request.
    public var coreContext: CoreRequestContextStorage
    /// The connection.
    public let channel: any Channel
    /// What a client's request came over: set where the listener asks clients for certificates.
    public var connection = ClientConnection.usual
    /// The other end of the connection: a proxy's address where one stands in front.
    public let remoteAddress: SocketAddress?
    /// The caller's address after forwarded headers of configured proxies; set by ``ClientAddressMiddleware``.
    public var clientAddress: String
    /// What the request's line in the log is to say of it.
    let notes = RequestNotes()

    /// Begins a request's context.
    public init(source: ApplicationRequestContextSource) {
        self.coreContext = .init(source: source)
        self.channel = source.channel
        self.remoteAddress = source.channel.remoteAddress
        self.clientAddress = source.channel.remoteAddress?.ipAddress ?? "local"
    }

    /// By what the caller is counted: the address, of IPv6 its first 64 bits. Whoever has one such address has all of
    /// them.
    var source: String { AddressBlock.source(of: self.clientAddress) }

    /// A parameter of the path, percent-decoded.
    ///
    /// Throws a 404 ``Problem`` where it is not UTF-8, or has control characters: nothing has such a name. The database takes
    /// U+0000 for a text's end, and would find what another name is that of.
    func pathParameter(_ name: String) throws -> String {
        // Most names stand as they are.
        let written = self.parameters.get(name)
        let isEncoded = written?.utf8.contains(UInt8(ascii: "%")) == true
        guard let text = isEncoded ? written?.removingPercentEncoding : written, !text.isEmpty,
            text.utf8.allSatisfy({ 0x20 <= $0 && $0 != 0x7F })
        else {
            throw Problem(.notFound, Problem.Name.notFound, "There is nothing at this address.")
        }
        return text
    }
}

extension ServerContext {
    /// The letters of references: none that people mistake for another (Crockford's base 32).
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

    /// What a person who asks for help reads out: short, and in the log at the request's line. Made of the request's
    /// number, so that it costs nothing where nobody needs it; forty bits, so that a day's refusals have different
    /// ones.
    var reference: String {
        let bytes = Array(SHA256.hash(data: Array(self.id.utf8)).prefix(5))
        let bits = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let letters = (0..<8).map { Self.alphabet[Int(bits >> UInt64(35 - 5 * $0)) & 31] }
        return "\(String(letters[..<4]))-\(String(letters[4...]))"
    }
}
