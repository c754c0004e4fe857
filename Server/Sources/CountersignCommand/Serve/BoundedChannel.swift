import CountersignServer
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import Store

extension HTTPServerBuilder {
    /// HTTP/1.1 as our listeners speak it: heads have a size, a connection without a request an end, and a request a time
    /// to come in.
    static func bounded(_ limits: Limits, connections: OpenConnections?) -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            BoundedChannel(
                base: HTTP1Channel(
                    responder: responder,
                    configuration: .init(
                        idleTimeout: TimeAmount(limits.connectionIdleTime),
                        httpDecoderConfiguration: .init(
                            maxHeaderFieldSize: limits.headerBytes, maxHeaderListSize: limits.headerBytes,
                            maxHeaderFieldCount: 100))),
                deadline: TimeAmount(limits.requestDeadline), patience: TimeAmount(limits.connectionIdleTime),
                connections: connections)
        }
    }
}

/// A listener's connections, each with a deadline for what it sends.
struct BoundedChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let deadline: TimeAmount
    /// How long the answer to a late request can take.
    let patience: TimeAmount
    let connections: OpenConnections?

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        self.base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            // Where requests are parts already, and everything else comes behind.
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(
                RequestDeadlineHandler(
                    deadline: self.deadline, patience: self.patience, connections: self.connections),
                position: .after(decoder))
            return value
        }
    }

    func handle(value: Base.Value, logger: Logger) async { await self.base.handle(value: value, logger: logger) }
}

/// Gives each request a time to come in whole, from its head to its end, however often a byte of it comes. A head that
/// does not come has the connection's idle time: nothing but a whole head begins that anew.
///
/// A late request whose answer has not begun is answered 408 by whoever reads its body; then, and in every other case at
/// once, the connection is closed.
final class RequestDeadlineHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let deadline: TimeAmount
    private let patience: TimeAmount
    private let connections: OpenConnections?
    private var wait: OpenConnections.Wait?
    private var isWaiting = false
    private var timer: Scheduled<Void>?
    private var isLate = false
    private var hasEnded = false
    private var begunRequests = 0
    private var wholeRequests = 0
    private var begunAnswers = 0
    private var wholeAnswers = 0

    init(deadline: TimeAmount, patience: TimeAmount, connections: OpenConnections?) {
        self.deadline = deadline
        self.patience = patience
        self.connections = connections
    }

    func handlerAdded(context: ChannelHandlerContext) { if context.channel.isActive { self.update(context) } }

    func handlerRemoved(context: ChannelHandlerContext) { self.end() }

    func channelActive(context: ChannelHandlerContext) {
        self.update(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.end()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Nobody reads what comes too late.
        guard !self.isLate else { return }
        switch self.unwrapInboundIn(data) {
        case .head:
            self.begunRequests += 1
            self.schedule(self.deadline, context) { self.expire(context) }
        case .body: break
        case .end:
            self.timer?.cancel()
            self.wholeRequests += 1
            self.update(context)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch self.unwrapOutboundIn(data) {
        case .head(let head) where head.status.code >= 200: self.begunAnswers += 1
        case .head, .body: break
        case .end:
            // Not before its last byte is on its way.
            let written = promise ?? context.eventLoop.makePromise()
            written.futureResult.assumeIsolated().whenComplete { _ in self.finishAnswer(context) }
            context.write(data, promise: written)
            return
        }
        context.write(data, promise: promise)
    }

    private func finishAnswer(_ context: ChannelHandlerContext) {
        self.wholeAnswers += 1
        if self.isLate { context.close(promise: nil) } else { self.update(context) }
    }

    private func expire(_ context: ChannelHandlerContext) {
        self.connections?.countLateRequest()
        guard self.begunAnswers < self.begunRequests else {
            context.close(promise: nil)
            return
        }
        self.isLate = true
        context.fireErrorCaught(RequestTooSlow())
        // Whoever answers may be at something else.
        self.schedule(self.patience, context) { context.close(promise: nil) }
    }

    private func schedule(_ time: TimeAmount, _ context: ChannelHandlerContext, _ task: @escaping () -> Void) {
        self.timer?.cancel()
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: time, task)
    }

    /// Tells whether a whole request waits for its answer, or the connection for a request.
    private func update(_ context: ChannelHandlerContext) {
        let isWaiting = self.wholeRequests <= self.wholeAnswers
        guard let connections = self.connections, !self.hasEnded, isWaiting != self.isWaiting else { return }
        self.isWaiting = isWaiting
        if isWaiting {
            let channel = context.channel
            self.wait = connections.wait(after: self.wait) { channel.close(promise: nil) }
        } else if let wait = self.wait {
            connections.answer(wait)
        }
    }

    private func end() {
        self.hasEnded = true
        self.timer?.cancel()
        if let wait = self.wait { self.connections?.end(wait) }
        self.wait = nil
    }
}

@available(*, unavailable)
extension RequestDeadlineHandler: Sendable {}
