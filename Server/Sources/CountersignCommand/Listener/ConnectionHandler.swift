import Endpoints
import NIOCore
import NIOHTTP1
import Settings

/// Enforces a listener's rules on each connection, for every responder behind the handler.
///
/// Each request has a time to come in completely, from its head to its end, however often a byte comes. A missing head
/// has the connection's idle time: only a complete head starts that time anew. If a late request's answer has not
/// begun, the reader of the body answers 408, and then the connection is closed. In every other case the connection is
/// closed at once.
///
/// The handler follows the rules of HTTP/1.1 for connections and messages (RFC 9112): which end closes the connection,
/// the form of an answer to HEAD or to HTTP/1.0, and the moment at which a waiting client is told to send its body.
///
/// When the server stops, the connection has a time to get its answers. The handler reports to the stop how the
/// connection ended.
final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// An act of the other end.
    private enum Held {
        case part(HTTPServerRequestPart)
        case inputClosed
    }

    private let deadline: TimeAmount
    /// The time that the answer to a late request can take.
    private let patience: TimeAmount
    private let linger: TimeAmount
    private let drain: Duration
    private let stop: ServerStop?
    private let connections: OpenConnections?
    private let source: @Sendable (SocketAddress?) -> String?
    private var connection: OpenConnections.Connection?
    private var isWaiting = true
    private var timer: Scheduled<Void>?
    private var drainTimer: Scheduled<Void>?
    /// The kind of end that the stop counts for this connection.
    private var ending = ServerStop.Ending.closed
    private var hasEnded = false
    private var isLate = false
    private var begunRequests = 0
    private var wholeRequests = 0
    private var begunAnswers = 0
    private var writtenAnswers = 0
    private var wholeAnswers = 0
    /// The request that is being answered.
    private var answered = RequestShape()
    /// `true` if the client waits for `100 Continue` before sending the body of its latest request.
    private var owesContinue = false
    /// `true` if the present request is the last of the connection.
    private var isLast = false
    /// `true` if everything is answered, and the other end has to close.
    private var isClosing = false
    /// `true` if the answer is written in pieces, at each event.
    private var isChannel = false
    /// The parts behind a request that is still unanswered.
    ///
    /// Nobody answers these parts before the connection is known to go on after the request. Until then the handler
    /// reads no more.
    private var held: CircularBuffer<Held> = []
    private var hasHeldRead = false

    init(
        limits: Limits, isPublic: Bool, connections: OpenConnections?, stop: ServerStop? = nil,
        source: @escaping @Sendable (SocketAddress?) -> String?
    ) {
        self.deadline = TimeAmount(limits.requestDeadline)
        self.patience = TimeAmount(limits.connectionIdleTime)
        self.linger = TimeAmount(limits.lingerTime)
        self.drain = isPublic ? limits.drainTime : limits.operatorDrainTime
        self.stop = stop
        self.connections = connections
        self.source = source
    }

    // MARK: The connection's life

    func handlerAdded(context: ChannelHandlerContext) { if context.channel.isActive { self.begin(context) } }

    func handlerRemoved(context: ChannelHandlerContext) { self.end() }

    func channelActive(context: ChannelHandlerContext) {
        self.begin(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.end()
        context.fireChannelInactive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard self.connection == nil, let connections = self.connections else { return }
        let channel = context.channel
        self.connection = connections.open(source: self.source(channel.remoteAddress)) {
            channel.triggerUserOutboundEvent(ConnectionCut(), promise: nil)
        }
    }

    private func end() {
        self.timer?.cancel()
        self.drainTimer?.cancel()
        if !self.hasEnded { self.stop?.note(self.ending) }
        self.hasEnded = true
        if let connection = self.connection { self.connections?.end(connection) }
        self.connection = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent:
            self.beginDrain(context)
        case ChannelEvent.inputClosed where self.isClosing || self.isChannel:
            // The other end has gone: nobody would get an answer.
            self.cut(context)
        case ChannelEvent.inputClosed where !self.held.isEmpty:
            self.held.append(.inputClosed)
            return
        case let progress as AnswerProgress:
            self.note(progress)
            return
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Begins the drain, at whose end the connection is cut. The drain lasts for the connection's own drain time, but
    /// not beyond the rest of the stop's time, without the part reserved for the steps after the connections.
    private func beginDrain(_ context: ChannelHandlerContext) {
        self.drainTimer?.cancel()
        let drain = TimeAmount(self.stop?.drain(atMost: self.drain) ?? self.drain)
        self.drainTimer = context.eventLoop.assumeIsolated().scheduleTask(in: drain) {
            if self.begunRequests > self.wholeAnswers { self.ending = .requestCut }
            self.cut(context)
        }
        context.triggerUserOutboundEvent(ConnectionDrains(), promise: nil)
    }

    private func cut(_ context: ChannelHandlerContext) {
        context.triggerUserOutboundEvent(ConnectionCut(), promise: nil)
    }

    private func note(_ progress: AnswerProgress) {
        if case .unread = progress { self.ending = .unread }
        guard let connections = self.connections, let connection = self.connection, !self.isWaiting else { return }
        switch progress {
        case .stalled: connections.stall(connection)
        case .unread: break
        case .moving: self.isChannel ? connections.holdChannel(connection) : connections.answer(connection)
        }
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = self.unwrapInboundIn(data)
        guard self.held.isEmpty else {
            self.held.append(.part(part))
            return
        }
        self.receive(part, context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        // No handler behind this one reads on after the last answer. Bytes left unread at the close of the connection
        // would make the system take the answer back.
        if self.isClosing { context.read() }
    }

    func read(context: ChannelHandlerContext) {
        self.hasHeldRead = !self.held.isEmpty
        if !self.hasHeldRead { context.read() }
    }

    private func receive(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        // The handler drops parts that come too late, or after the last request.
        guard !self.isLate, !self.isClosing else { return }
        switch part {
        case .head(var head):
            guard !self.isLast else { return }
            guard self.begunRequests <= self.wholeAnswers else {
                self.held.append(.part(part))
                // The answer would come into the midst of the channel.
                if self.isChannel { self.cut(context) }
                return
            }
            let shape = RequestShape(&head)
            self.answered = shape
            // A server that stops answers the requests that have come, and no later request.
            self.isLast = shape.isLast || self.stop?.hasBegun == true
            self.owesContinue = shape.expectsContinue
            self.begunRequests += 1
            self.schedule(self.deadline, context) { self.expire(context) }
            context.fireChannelRead(self.wrapInboundOut(.head(head)))
            return
        case .body:
            // The client did not wait.
            self.owesContinue = false
        case .end:
            guard self.wholeRequests < self.begunRequests else { return }
            self.owesContinue = false
            self.timer?.cancel()
            self.wholeRequests += 1
            self.update()
        }
        context.fireChannelRead(self.wrapInboundOut(part))
    }

    /// Goes on with the parts that have come meanwhile.
    private func release(_ context: ChannelHandlerContext) {
        guard !self.held.isEmpty else { return }
        // The handlers behind wait for the end of the parts that came at once.
        defer { context.fireChannelReadComplete() }
        while let next = self.held.first {
            switch next {
            case .part(.head) where self.begunRequests > self.wholeAnswers: return
            case .part(let part):
                self.held.removeFirst()
                self.receive(part, context)
            case .inputClosed:
                self.held.removeFirst()
                context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
            }
        }
        guard self.hasHeldRead else { return }
        self.hasHeldRead = false
        context.read()
    }

    func triggerUserOutboundEvent(
        context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
    ) {
        if let change = event as? ConnectionOwnerChange, let connection = self.connection {
            self.connections?.count(connection, forAccount: change.accountID)
        }
        guard event is RequestBodyAwaited else {
            context.triggerUserOutboundEvent(event, promise: promise)
            return
        }
        if self.owesContinue {
            self.owesContinue = false
            let head = HTTPResponseHead(version: .http1_1, status: .continue)
            context.writeAndFlush(self.wrapOutboundOut(.head(head)), promise: nil)
        }
        promise?.succeed()
    }

    private func expire(_ context: ChannelHandlerContext) {
        self.connections?.countLateRequest()
        guard self.begunAnswers < self.begunRequests else {
            context.close(promise: nil)
            return
        }
        self.isLate = true
        self.isLast = true
        context.fireErrorCaught(RequestTooSlow())
        // The responder may be busy with something else.
        self.schedule(self.patience, context) { context.close(promise: nil) }
    }

    private func schedule(_ time: TimeAmount, _ context: ChannelHandlerContext, _ task: @escaping () -> Void) {
        self.timer?.cancel()
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: time, task)
    }

    // MARK: Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !self.isClosing else {
            promise?.fail(ChannelError.outputClosed)
            return
        }
        switch self.unwrapOutboundIn(data) {
        case .head(let head) where head.status.code >= 200:
            self.begunAnswers += 1
            // The client may or may not send the body that the server did not ask for. The next bytes could be either.
            let isRefused = self.owesContinue || head.status.code >= 400 && !head.isKeepAlive
            self.isLast = self.isLast || isRefused
            context.write(self.wrapOutboundOut(.head(self.completed(head))), promise: promise)
        case .body where self.answered.isHead: promise?.succeed()
        case .head, .body: context.write(data, promise: promise)
        case .end:
            self.writtenAnswers += 1
            // The answer is finished only when its last byte is on its way.
            let written = promise ?? context.eventLoop.makePromise()
            written.futureResult.assumeIsolated().whenComplete { _ in self.finishAnswer(context) }
            // The end of chunks is part of a body.
            let isBare = self.answered.isHead
            context.write(
                isBare ? self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))) : data, promise: written)
        }
    }

    /// Returns the head in a form that the client of this request can read.
    private func completed(_ head: HTTPResponseHead) -> HTTPResponseHead {
        guard self.answered.isOld || self.isLast else { return head }
        var head = head
        // HTTP/1.0 knows no chunks: the answer ends with the connection.
        if self.answered.isOld { head.version = .http1_0 }
        head.headers.replaceOrAdd(name: "connection", value: "close")
        return head
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        // An answer to HEAD is whole for the client with its head, so the next request may come before the answer's end.
        guard self.begunAnswers > self.writtenAnswers, !self.isChannel, !self.answered.isHead else { return }
        self.isChannel = true
        guard self.held.isEmpty else {
            self.cut(context)
            return
        }
        if let connection = self.connection { self.connections?.holdChannel(connection) }
    }

    private func finishAnswer(_ context: ChannelHandlerContext) {
        self.wholeAnswers += 1
        self.isChannel = false
        if self.isLast {
            self.isClosing = true
            self.held.removeAll()
            self.hasHeldRead = false
            // Bytes that still come must not make the system take the answer back. The handler reads and drops these
            // bytes (RFC 9112, section 9.6).
            context.close(mode: .output, promise: nil)
            self.schedule(self.linger, context) { context.close(promise: nil) }
            context.read()
        }
        self.update()
        self.release(context)
    }

    /// Reports if a complete request waits for its answer, or if the connection waits for a request.
    private func update() {
        let isWaiting = self.wholeRequests <= self.wholeAnswers
        guard let connections = self.connections, let connection = self.connection, isWaiting != self.isWaiting else {
            return
        }
        self.isWaiting = isWaiting
        if isWaiting { connections.wait(connection) } else { connections.answer(connection) }
    }
}

@available(*, unavailable)
extension ConnectionHandler: Sendable {}
