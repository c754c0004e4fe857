import CountersignServer
import NIOCore
import NIOHTTP1
import Store

/// What a listener asks of each connection, whoever answers behind it.
///
/// It gives each request a time to come in whole, from its head to its end, however often a byte of it comes. A head that
/// does not come has the connection's idle time: nothing but a whole head begins that anew. A late request whose answer
/// has not begun is answered 408 by whoever reads its body; then, and in every other case at once, the connection is
/// closed.
///
/// It keeps to what HTTP/1.1 says of connections and messages (RFC 9112): who ends the connection, what an answer to
/// HEAD, or to HTTP/1.0, looks like, and when a client that waits for it is told to send its body.
///
/// When the server stops, the connection has a time to get its answers, and tells the stop how the connection ended.
final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// What the other end did.
    private enum Held {
        case part(HTTPServerRequestPart)
        case inputClosed
    }

    private let deadline: TimeAmount
    /// How long the answer to a late request can take.
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
    /// What the stop counts this connection as.
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
    /// The client waits for `100 Continue` before it sends the body of its latest request.
    private var owesContinue = false
    /// No request comes after the one that is there.
    private var isLast = false
    /// Everything is answered, and the other end is to close.
    private var isClosing = false
    /// The answer is written in pieces, as there is something to tell.
    private var isChannel = false
    /// What has come after a request that is not answered yet. Nobody answers it before that request has turned out to be
    /// one after which the connection goes on; until then no more is read.
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
            // Nobody is there to be told anything.
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

    /// The connection has what is left of the stop, and no more than its own time.
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
        // Nobody behind reads on after the last answer, and what is left unread when the connection is closed would make
        // the system take that answer back.
        if self.isClosing { context.read() }
    }

    func read(context: ChannelHandlerContext) {
        self.hasHeldRead = !self.held.isEmpty
        if !self.hasHeldRead { context.read() }
    }

    private func receive(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        // Nobody reads what comes too late, or after the last request.
        guard !self.isLate, !self.isClosing else { return }
        switch part {
        case .head(var head):
            guard !self.isLast else { return }
            guard self.begunRequests <= self.wholeAnswers else {
                self.held.append(.part(part))
                // Its answer would come into the midst of the channel.
                if self.isChannel { self.cut(context) }
                return
            }
            let shape = RequestShape(&head)
            self.answered = shape
            // A server that stops answers what has come, and nothing behind that.
            self.isLast = shape.isLast || self.stop?.hasBegun == true
            self.owesContinue = shape.expectsContinue
            self.begunRequests += 1
            self.schedule(self.deadline, context) { self.expire(context) }
            context.fireChannelRead(self.wrapInboundOut(.head(head)))
            return
        case .body:
            // It did not wait.
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

    /// Goes on with what has come meanwhile.
    private func release(_ context: ChannelHandlerContext) {
        guard !self.held.isEmpty else { return }
        // Whoever reads behind waits for the end of what came at once.
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
        // Whoever answers may be at something else.
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
            // The body that was not asked for may come or not: what follows could be either.
            let isRefused = self.owesContinue || head.status.code >= 400 && !head.isKeepAlive
            self.isLast = self.isLast || isRefused
            context.write(self.wrapOutboundOut(.head(self.completed(head))), promise: promise)
        case .body where self.answered.isHead: promise?.succeed()
        case .head, .body: context.write(data, promise: promise)
        case .end:
            self.writtenAnswers += 1
            // Not before its last byte is on its way.
            let written = promise ?? context.eventLoop.makePromise()
            written.futureResult.assumeIsolated().whenComplete { _ in self.finishAnswer(context) }
            // The end of chunks is part of a body.
            let isBare = self.answered.isHead
            context.write(
                isBare ? self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))) : data, promise: written)
        }
    }

    /// The head as the client of this request can read it.
    private func completed(_ head: HTTPResponseHead) -> HTTPResponseHead {
        guard self.answered.isOld || self.isLast else { return head }
        var head = head
        // Knows no chunks: the answer ends with the connection.
        if self.answered.isOld { head.version = .http1_0 }
        head.headers.replaceOrAdd(name: "connection", value: "close")
        return head
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        guard self.begunAnswers > self.writtenAnswers, !self.isChannel else { return }
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
            // Bytes that still come must not make the system take the answer back: they are read, and dropped (RFC 9112,
            // section 9.6).
            context.close(mode: .output, promise: nil)
            self.schedule(self.linger, context) { context.close(promise: nil) }
            context.read()
        }
        self.update()
        self.release(context)
    }

    /// Tells whether a whole request waits for its answer, or the connection for a request.
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
