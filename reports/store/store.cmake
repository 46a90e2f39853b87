# bb_store: the history of results, where SQLite is there. Included by reports/CMakeLists.txt.
if(TARGET SQLite::SQLite3)
  add_library(bb_store STATIC store/store.cpp)
  add_library(bb::store ALIAS bb_store)
  bb_json_headers(bb_store)
  target_link_libraries(bb_store PUBLIC bb_reports PRIVATE SQLite::SQLite3 bb::warnings)
endif()
