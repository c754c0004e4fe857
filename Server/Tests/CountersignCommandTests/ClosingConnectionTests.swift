import NIOCore
import NIOEmbedded
import NIOHTTP1
import Settings
import Synchronization
import Testing

@testable import CountersignCommand

@Suite("A connection that ends reads what still comes until the other end closes (RFC 9112, section 9.6)")
struct ClosingConnectionTests {
    /// Counts what is asked of the socket, and can be closed in one direction, as the channel of a test cannot.
    private final class Socket: ChannelOutboundHandler, Sendable {
        typealias OutboundIn = Any

        let reads = Mutex(0)

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            guard mode == .all else {
                promise?.succeed()
                return
            }
            context.close(mode: mode, promise: promise)
        }

        func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
            if event is ConnectionCut { context.close(promise: promise) } else { promise?.succeed() }
        }

        func read(context: ChannelHandlerContext) {
            self.reads.withLock { $0 += 1 }
            context.read()
        }
    }

    private static let head = HTTPServerRequestPart.head(
        HTTPRequestHead(version: .http1_1, method: .POST, uri: "/", headers: ["host": "a"]))

    /// A connection whose request is refused with its last answer while `more` has come behind it.
    private static func closing(_ more: [HTTPServerRequestPart]) throws -> (EmbeddedChannel, Socket) {
        let (channel, socket) = (EmbeddedChannel(), Socket())
        try channel.pipeline.syncOperations.addHandlers([
            socket, ConnectionHandler(limits: Limits(), isPublic: true, connections: nil) { _ in nil },
        ])
        channel.connect(to: try SocketAddress(unixDomainSocketPath: "/x"), promise: nil)
        for part in [Self.head, .end(nil)] + more { try channel.writeInbound(part) }
        channel.read()
        let refusal = HTTPResponseHead(version: .http1_1, status: .expectationFailed, headers: ["connection": "close"])
        channel.write(HTTPServerResponsePart.head(refusal), promise: nil)
        channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
        return (channel, socket)
    }

    @Test("Reading goes on, whether a request was held back behind the last one or not", arguments: [false, true])
    func readsOn(isHeld: Bool) throws {
        let (channel, socket) = try Self.closing(isHeld ? [Self.head, .end(nil)] : [])
        let before = socket.reads.withLock { $0 }
        #expect(before >= 1)
        for more in 1...3 {
            try channel.writeInbound(HTTPServerRequestPart.body(ByteBuffer(string: "more")))
            #expect(socket.reads.withLock { $0 } >= before + more, "nobody else asks for more")
        }
        // Of the second request nothing was passed on.
        var heads = 0
        while let part = try channel.readInbound(as: HTTPServerRequestPart.self) { if case .head = part { heads += 1 } }
        #expect(heads == 1)
        #expect(channel.isActive)
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(!channel.isActive, "the other end has closed: there is nothing to wait for")
    }
}
