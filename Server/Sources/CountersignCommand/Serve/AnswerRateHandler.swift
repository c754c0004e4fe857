import Foundation
import NIOCore
import Store

/// Closes the connection at once, whatever of its answers is unsent.
struct ConnectionCut: Sendable {}

/// The server stops: a client that reads nothing is not waited for.
struct ConnectionDrains: Sendable {}

/// Whether the other end takes what is sent to it.
enum AnswerProgress: Sendable {
    /// Nothing of what is unsent has left since the last look.
    case stalled
    /// It has, or nothing is left.
    case moving
    /// Nothing has left for two looks while the server stops: the connection is cut.
    case unread
}

/// Answers have a least rate, as requests have a deadline: a client that does not read them keeps no connection.
///
/// It stands next to the socket and counts bytes, so that it sees what really leaves, also under TLS. Only time in
/// which something is unsent counts: a channel that waits for events can be quiet for ever. It looks at the connection
/// from time to time after something was sent, and reads nothing of it while it sends.
///
/// When the server stops, a client that has read nothing for two looks is cut then (``UnreadLooks``).
///
/// What is unsent when the connection is closed is sent first, at the same rate; only ``ConnectionCut`` does not wait.
final class AnswerRateHandler: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let period: TimeAmount
    private let bytes: Int
    private let look: TimeAmount
    private let connections: OpenConnections?
    private let unsent: (any Channel) -> Int?
    private var timer: Scheduled<Void>?
    private var written = 0
    private var sentAtLastLook: Int?
    private var isStalled = false
    /// While the server stops.
    private var unreadLooks: UnreadLooks?
    /// When the period began, what had left then, and what was to leave.
    private var begin: (at: NIODeadline, sent: Int, written: Int)?

    /// `unsent` says how much waits in this process for a connection's socket to take it; `nil` where it has ended.
    init(
        limits: Limits, connections: OpenConnections?,
        unsent: @escaping (any Channel) -> Int? = {
            try? $0.syncOptions?.getOption(.bufferedWritableBytes)
        }
    ) {
        self.unsent = unsent
        self.period = TimeAmount(limits.answerPeriod)
        self.bytes = limits.answerBytes
        self.look = TimeAmount(limits.answerLook)
        self.connections = connections
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.timer?.cancel() }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        self.written += self.unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        if self.timer == nil { self.schedule(context) }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all, let unsent = self.unsent(context.channel), unsent > 0 else {
            context.close(mode: mode, promise: promise)
            return
        }
        // An empty write is done when everything before it has left.
        let last = context.eventLoop.makePromise(of: Void.self)
        last.futureResult.assumeIsolated().whenComplete { _ in context.close(mode: mode, promise: promise) }
        context.writeAndFlush(self.wrapOutboundOut(.byteBuffer(ByteBuffer())), promise: last)
        if self.timer == nil { self.schedule(context) }
    }

    func triggerUserOutboundEvent(
        context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
    ) {
        switch event {
        case is ConnectionCut: self.cut(context, promise)
        case is ConnectionDrains:
            promise?.succeed()
            guard self.unreadLooks == nil, let unsent = self.unsent(context.channel) else { return }
            self.unreadLooks = UnreadLooks(sent: self.written - unsent)
        default: context.triggerUserOutboundEvent(event, promise: promise)
        }
    }

    /// Closes the connection, and has the system keep nothing for it either.
    private func cut(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        if let unsent = self.unsent(context.channel), unsent > 0 {
            _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        }
        context.close(promise: promise)
    }

    private func schedule(_ context: ChannelHandlerContext) {
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: self.look) { self.lookAgain(context) }
    }

    private func lookAgain(_ context: ChannelHandlerContext) {
        self.timer = nil
        guard let unsent = self.unsent(context.channel) else { return }
        let sent = self.written - unsent
        self.tell(isStalled: unsent > 0 && sent == self.sentAtLastLook, context)
        guard unsent > 0 else {
            (self.sentAtLastLook, self.begin) = (nil, nil)
            return
        }
        self.sentAtLastLook = sent
        if self.unreadLooks?.isOver(sent: sent) == true {
            context.fireUserInboundEventTriggered(AnswerProgress.unread)
            self.connections?.countUnreadAnswer()
            self.cut(context, nil)
            return
        }
        let now = context.eventLoop.now
        let begin = self.begin ?? (now, sent, self.written)
        self.begin = begin
        if now - begin.at >= self.period {
            // Where less than that was unsent, all of it is enough.
            guard sent >= min(begin.sent + self.bytes, begin.written) else {
                self.connections?.countUnreadAnswer()
                self.cut(context, nil)
                return
            }
            self.begin = (now, sent, self.written)
        }
        self.schedule(context)
    }

    private func tell(isStalled: Bool, _ context: ChannelHandlerContext) {
        guard isStalled != self.isStalled else { return }
        self.isStalled = isStalled
        context.fireUserInboundEventTriggered(isStalled ? AnswerProgress.stalled : .moving)
    }
}

@available(*, unavailable)
extension AnswerRateHandler: Sendable {}
