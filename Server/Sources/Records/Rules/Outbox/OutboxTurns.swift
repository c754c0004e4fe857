import _Primitives

/// A lane with due messages.
package struct OutboxLane: Sendable, Equatable {
    /// The name of the lane.
    package let name: String
    /// The earliest turn of a due message in the lane.
    package let turn: Int

    /// Makes a lane of these values.
    package init(name: String, turn: Int) {
        self.name = name
        self.turn = turn
    }
}

extension OutboxShares {
    /// The turn of a lane.
    package struct Turn: Sendable, Equatable {
        /// The lane.
        package let lane: String
        /// The number of further messages that the lane may have under way.
        package let places: Int
    }

    /// Returns the turns of the lanes with a place left. The lane with the earliest message's turn comes first, then the
    /// lane with the fewest messages under way, then the lane that comes first in `lanes`.
    package func turns(of lanes: [OutboxLane]) -> [Turn] {
        lanes.map { lane -> (turn: Int, underWay: Int, Turn) in
            let name = ExactText(lane.name)
            let (share, underWay) = (self.sharesOfLanes[name] ?? self.share, self.underWay[name] ?? 0)
            return (lane.turn, underWay, Turn(lane: lane.name, places: share - underWay))
        }
        .sorted { ($0.turn, $0.underWay) < ($1.turn, $1.underWay) }
        .map(\.2).filter { $0.places > 0 }
    }

    /// Returns the number of messages to take in a turn; `nil` if the caller has as many messages as it may take.
    ///
    /// - Parameter taken: The number of messages that the caller has taken in earlier turns.
    package func limit(of turn: Turn, beside taken: Int) -> Int? {
        guard taken < self.most else { return nil }
        return min(turn.places, self.most - taken)
    }
}
