import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import Settings
import _Primitives

extension HTTPServerBuilder {
    /// Returns HTTP/1.1 with the bounds of this server's listeners. Heads have a greatest size, connections without a
    /// request have an end, requests have a deadline, and answers have a least rate.
    ///
    /// - Parameters:
    ///   - limits: The sizes and times.
    ///   - connections: The record that counts the listener's connections; `nil` for a listener of operators.
    ///   - stop: The stop of the process, which the connections' drain is a part of.
    ///   - source: Returns the source that the other end counts for; `nil` for an end without a share.
    static func bounded(
        _ limits: Limits, connections: OpenConnections? = nil, stop: ServerStop? = nil,
        source: @escaping @Sendable (SocketAddress?) -> String? = { _ in nil }
    ) -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            BoundedChannel(
                base: HTTP1Channel(
                    responder: responder,
                    configuration: .init(
                        idleTimeout: TimeAmount(limits.connectionIdleTime),
                        httpDecoderConfiguration: .init(
                            maxHeaderFieldSize: limits.headerBytes, maxHeaderListSize: limits.headerBytes,
                            maxHeaderFieldCount: Limits.Fixed.headerFields))),
                limits: limits, connections: connections, stop: stop, source: source)
        }
    }
}

/// A listener's connections, each with a deadline for incoming requests and a least rate for answers.
struct BoundedChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let limits: Limits
    let connections: OpenConnections?
    let stop: ServerStop?
    let source: @Sendable (SocketAddress?) -> String?

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        self.base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            try self.boundSocket(of: channel)
            let pipeline = channel.pipeline.syncOperations
            // Next to the socket, below TLS.
            try pipeline.addHandler(
                AnswerRateHandler(limits: self.limits, connections: self.connections), position: .first)
            // Behind the decoder, which makes parts of requests, and in front of all other handlers.
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(
                ConnectionHandler(
                    limits: self.limits, isPublic: self.connections != nil, connections: self.connections,
                    stop: self.stop, source: self.source),
                position: .after(decoder))
            return value
        }
    }

    /// Bounds the bytes that the system keeps for the connection, and the time that the system waits for the other
    /// end's acknowledgement.
    private func boundSocket(of channel: any Channel) throws {
        guard let options = channel.syncOptions else { return }
        try options.setOption(
            ChannelOptions.socketOption(.so_sndbuf), value: SocketOptionValue(self.limits.sendBufferBytes))
        #if os(Linux)
            let isTCP = channel.localAddress.map { $0.protocol == .inet || $0.protocol == .inet6 } ?? false
            guard isTCP else { return }
            // TCP_USER_TIMEOUT, in milliseconds.
            try options.setOption(
                ChannelOptions.tcpOption(NIOBSDSocket.Option(rawValue: 18)),
                value: SocketOptionValue(self.limits.acknowledgementTime.milliseconds))
        #endif
    }

    func handle(value: Base.Value, logger: Logger) async { await self.base.handle(value: value, logger: logger) }
}
