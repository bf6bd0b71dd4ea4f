// A session and its recording in one file (.kevb), to be given to others.
#pragma once

#include "gui/model/session.h"

namespace kevt::gui {

// `recording`: a file that `kevtrace report` reads, with the symbols it needs; a trace.dat of version 7 is compressed.
Result<void> writeBundle(const Session& session, const QString& recording, const QString& path);
// Writes the recording to `folder`, and returns the session with that file as its trace. The bundle is not trusted:
// everything is checked.
Result<Session> readBundle(const QString& path, const QString& folder);

}  // namespace kevt::gui
