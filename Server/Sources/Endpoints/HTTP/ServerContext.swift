import Crypto
import Foundation
import HTTPTypes
public import Hummingbird
public import NIOCore
public import OAuthProvider

/// The values of a request on its way through the server.
public struct ServerContext: RequestContext, RemoteAddressRequestContext {
    /// The HTTP library's storage for a request.
    public var coreContext: CoreRequestContextStorage
    /// The connection.
    public let channel: any Channel
    /// The kind of connection of a client's request. A listener that asks clients for certificates sets the kind.
    public var connection = ClientConnection.usual
    /// The other end of the connection. Behind a proxy this is the proxy's address.
    public let remoteAddress: SocketAddress?
    /// The caller's address after forwarded headers of configured proxies; set by ``ClientAddressMiddleware``.
    public var clientAddress: String
    /// The registry that counts the requests of the listener; `nil` if the listener does not count.
    var registry: PrometheusMetrics?
    /// The notes for the request's line in the log.
    package let notes = RequestNotes()

    /// Creates a request's context.
    public init(source: ApplicationRequestContextSource) {
        self.coreContext = .init(source: source)
        self.channel = source.channel
        self.remoteAddress = source.channel.remoteAddress
        self.clientAddress = source.channel.remoteAddress?.ipAddress ?? "local"
    }

    /// The source that the caller counts for: the IPv4 address, or the first 64 bits of an IPv6 address. A caller with
    /// one IPv6 address has all addresses of these 64 bits.
    package var source: String { AddressBlock.source(of: self.clientAddress) }

    /// Counts an event under values of the metric's labels. The values are the server's own words.
    package func count(_ metric: CounterMetric, _ values: String...) {
        self.registry?.count(metric, of: values)
    }

    /// Returns a parameter of the path, percent-decoded.
    ///
    /// Throws a 404 ``Problem`` if the parameter is empty, is not UTF-8, or has control characters: nothing has such a
    /// name. The database takes U+0000 for a text's end, and would find the object of a shorter name.
    package func pathParameter(_ name: String) throws -> String {
        // Most names need no decoding.
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
    /// The letters of references, without letters that people mistake for another (Crockford's base 32).
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

    /// The short number that a person who asks for help reads out. The request's line in the log has the same number.
    ///
    /// The reference is derived from the request's number, so that an unused reference costs nothing. The reference has
    /// forty bits, so that the references of a day's refusals differ.
    package var reference: String {
        let bytes = Array(SHA256.hash(data: Array(self.id.utf8)).prefix(5))
        let bits = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let letters = (0..<8).map { (place: Int) in
            let index = Int(bits >> UInt64(35 - 5 * place)) & 31
            return Self.alphabet[index]
        }
        return "\(String(letters[..<4]))-\(String(letters[4...]))"
    }
}
